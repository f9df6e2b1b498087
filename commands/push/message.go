package push

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/url"
	"slices"
	"time"
)

// recordSize is how long a record may be that a message declares; ours has one,
// which is shorter.
const recordSize = 4096

// encrypt makes the body of one message for a browser: RFC 8291.
func encrypt(text []byte, browser *ecdh.PublicKey, auth []byte) ([]byte, error) {
	ours, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	salt := make([]byte, 16)
	if _, err := rand.Read(salt); err != nil {
		return nil, err
	}
	return seal(text, browser, auth, ours, salt)
}

// seal is encrypt with its random parts given: both are used for one message.
func seal(text []byte, browser *ecdh.PublicKey, auth []byte, ours *ecdh.PrivateKey, salt []byte) ([]byte, error) {
	shared, err := ours.ECDH(browser)
	if err != nil {
		return nil, err
	}
	mine := ours.PublicKey().Bytes()
	info := slices.Concat([]byte("WebPush: info\x00"), browser.Bytes(), mine)
	key, err := hkdf.Key(sha256.New, shared, auth, string(info), 32)
	if err != nil {
		return nil, err
	}
	return record(text, key, salt, mine)
}

// record is a message of one record with the encoding aes128gcm: RFC 8188.
func record(text, key, salt, keyID []byte) ([]byte, error) {
	derive := func(what string, size int) ([]byte, error) {
		return hkdf.Key(sha256.New, key, salt, "Content-Encoding: "+what+"\x00", size)
	}
	content, err := derive("aes128gcm", 16)
	if err != nil {
		return nil, err
	}
	nonce, err := derive("nonce", 12)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(content)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	out := binary.BigEndian.AppendUint32(slices.Clone(salt), recordSize)
	out = append(append(out, byte(len(keyID))), keyID...)
	return aead.Seal(out, nonce, append(slices.Clone(text), 2), nil), nil // 2 ends the last record
}

// authorization is the header that says to a push service who sends: RFC 8292.
// It is good for the service of this endpoint, until expires.
func (k *Keys) authorization(endpoint, contact string, expires time.Time) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", err
	}
	claims, err := json.Marshal(map[string]any{"aud": u.Scheme + "://" + u.Host, "exp": expires.Unix(), "sub": contact})
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"typ":"JWT","alg":"ES256"}`)) + "." + encode(claims)
	hash := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, k.private, hash[:])
	if err != nil {
		return "", err
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return "vapid t=" + text + "." + encode(signature) + ", k=" + k.Public(), nil
}
