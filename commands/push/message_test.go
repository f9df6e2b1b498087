package push

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"
)

func decode(t testing.TB, text string) []byte {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mac(key []byte, parts ...[]byte) []byte {
	m := hmac.New(sha256.New, key)
	for _, p := range parts {
		m.Write(p)
	}
	return m.Sum(nil)
}

// open decrypts a message as a browser does, step by step as RFC 8291, section
// 3.4, and RFC 8188, section 2, write it.
func open(body []byte, browser *ecdh.PrivateKey, auth []byte) (text []byte, err error) {
	if len(body) < 21 {
		return nil, fmt.Errorf("a body of %d bytes", len(body))
	}
	salt, size, idLen := body[:16], binary.BigEndian.Uint32(body[16:20]), int(body[20])
	if size != 4096 || len(body) < 21+idLen || len(body)-21-idLen > int(size) {
		return nil, fmt.Errorf("record of %d, key of %d bytes", size, idLen)
	}
	sender, err := ecdh.P256().NewPublicKey(body[21 : 21+idLen])
	if err != nil {
		return nil, err
	}
	shared, err := browser.ECDH(sender)
	if err != nil {
		return nil, err
	}
	ikm := mac(mac(auth, shared), []byte("WebPush: info\x00"), browser.PublicKey().Bytes(), sender.Bytes(), []byte{1})
	return unrecord(ikm, salt, body[21+idLen:])
}

func unrecord(ikm, salt, sealed []byte) ([]byte, error) {
	prk := mac(salt, ikm)
	block, err := aes.NewCipher(mac(prk, []byte("Content-Encoding: aes128gcm\x00\x01"))[:16])
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	padded, err := aead.Open(nil, mac(prk, []byte("Content-Encoding: nonce\x00\x01"))[:12], sealed, nil)
	if err != nil {
		return nil, err
	}
	text, last := bytes.CutSuffix(bytes.TrimRight(padded, "\x00"), []byte{2})
	if !last {
		return nil, fmt.Errorf("%q does not end the last record", padded)
	}
	return text, nil
}

// claims is what a sender says of itself.
type claims struct {
	Aud, Sub string
	Exp      int64
}

// verify reads an Authorization header as RFC 8292 writes it, with the key that
// is in it.
func verify(header string) (c claims, key string, err error) {
	rest, ok := strings.CutPrefix(header, "vapid t=")
	token, key, cut := strings.Cut(rest, ", k=")
	parts := strings.Split(token, ".")
	if !ok || !cut || len(parts) != 3 {
		return c, "", fmt.Errorf("no header of this kind: %q", header)
	}
	var raw [4][]byte
	for i, part := range append(parts, key) {
		if raw[i], err = base64.RawURLEncoding.DecodeString(part); err != nil {
			return c, "", err
		}
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), raw[3])
	if err != nil || len(raw[2]) != 64 {
		return c, "", fmt.Errorf("key or signature: %w", err)
	}
	var alg struct{ Typ, Alg string }
	if err := json.Unmarshal(raw[0], &alg); err != nil || alg.Typ != "JWT" || alg.Alg != "ES256" {
		return c, "", fmt.Errorf("head %s", raw[0])
	}
	hash := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !ecdsa.Verify(public, hash[:], new(big.Int).SetBytes(raw[2][:32]), new(big.Int).SetBytes(raw[2][32:])) {
		return c, "", fmt.Errorf("the signature is not right")
	}
	return c, key, json.Unmarshal(raw[1], &c)
}

// TestRFC8188Example is section 3.1.
func TestRFC8188Example(t *testing.T) {
	got, err := record([]byte("I am the walrus"), decode(t, "yqdlZ-tYemfogSmv7Ws5PQ"), decode(t, "I1BsxtFttlv3u_Oo94xnmw"), nil)
	const want = "I1BsxtFttlv3u_Oo94xnmwAAEAAA-NAVub2qFgBEuQKRapoZu-IxkIva3MEB1PD-ly8Thjg"
	if err != nil || base64.RawURLEncoding.EncodeToString(got) != want {
		t.Errorf("%x, %v", got, err)
	}
}

// TestRFC8291Example is section 5, with the keys of appendix A; it also tests
// the decryption that the other tests rely on.
func TestRFC8291Example(t *testing.T) {
	const text = "When I grow up, I want to be a watermelon"
	const body = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_" +
		"yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
	ours, err := ecdh.P256().NewPrivateKey(decode(t, "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"))
	if err != nil {
		t.Fatal(err)
	}
	browser, err := ecdh.P256().NewPrivateKey(decode(t, "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"))
	if err != nil {
		t.Fatal(err)
	}
	auth := decode(t, "BTBZMqHH6r4Tts7J_aSIgg")
	got, err := seal([]byte(text), browser.PublicKey(), auth, ours, decode(t, "DGv6ra1nlYgDCS1FRnbzlw"))
	if err != nil || base64.RawURLEncoding.EncodeToString(got) != body {
		t.Errorf("%s, %v", base64.RawURLEncoding.EncodeToString(got), err)
	}
	opened, err := open(decode(t, body), browser, auth)
	if err != nil || string(opened) != text {
		t.Errorf("%q, %v", opened, err)
	}
	one, err := encrypt([]byte(text), browser.PublicKey(), auth)
	if err != nil {
		t.Fatal(err)
	}
	other, err := encrypt([]byte(text), browser.PublicKey(), auth)
	if err != nil || bytes.Equal(one[:16], other[:16]) || bytes.Equal(one[21:86], other[21:86]) {
		t.Errorf("two messages have a salt or a key in common (%v)", err)
	}
	if opened, err := open(one, browser, auth); err != nil || string(opened) != text {
		t.Errorf("%q, %v", opened, err)
	}
}

// TestRFC8292Example is section 2.4: what it signs is what we sign.
func TestRFC8292Example(t *testing.T) {
	const header = "vapid t=eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3NjgsInN1YiI6" +
		"Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA, " +
		"k=BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"
	want, _, err := verify(header)
	if err != nil {
		t.Fatal(err)
	}
	_, keys := newVault(t)
	ours, err := keys.authorization("https://push.example.net/p/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV", "mailto:push@example.com", time.Unix(1453523768, 0))
	if err != nil {
		t.Fatal(err)
	}
	got, key, err := verify(ours)
	if err != nil || got != want || key != keys.Public() {
		t.Errorf("%+v with %s, %v; want %+v with %s", got, key, err, want, keys.Public())
	}
	signed := func(h string) string { s, _, _ := strings.Cut(h, "."); return s }
	if signed(ours) != signed(header) {
		t.Errorf("head %s", signed(ours))
	}
	if _, _, err := verify(strings.Replace(ours, "vapid t=eyJ0", "vapid t=eyJ1", 1)); err == nil {
		t.Error("the test's own check takes anything")
	}
}
