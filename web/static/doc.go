// Package static holds the style, the scripts and the pictures of the pages,
// embedded in the binary.
//
// All files share one hash, which is part of their address: /static/HASH/NAME.
// A module may so import its neighbours by relative paths, and every answer
// may be kept for ever. Addresses come from Files.URL only.
//
// css/ has tokens.css, the one place for colours and sizes, and a sheet per
// concern. js/ has small modules. vendor/ is other people's code, pinned by
// vendor.lock.json. art/ is drawn by the program in art/gen.
//
// It may import the standard library only.
package static
