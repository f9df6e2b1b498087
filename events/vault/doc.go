// Package vault keeps secrets (API keys, password hashes, private keys)
// encrypted beside the log, never in it.
//
// Each secret lies in the keyspace "vault" under its name, which is made of ids
// only ("connection/ID"):
//
//	0x01 ‖ nonce (24 random bytes) ‖ XChaCha20-Poly1305(key, nonce, secret)
//
// with "lembas vault 1" ‖ 0x00 ‖ name as additional data, so that a record moved
// to another name does not open. The key is HKDF-SHA-256 of the master key. The
// record "\x00check" holds a known text; it tells a wrong key at start.
//
// The master key is 32 random bytes: LEMBAS_SECRET_KEY, or else the file "key"
// in the data directory, made at the first start with mode 0600. The file lies
// outside of the Pebble folder; a backup has it (without it no secret of the
// copy could be read), and then the copy must be guarded like the original.
// With LEMBAS_SECRET_KEY there is no such file.
//
// It may import events and events/store.
package vault
