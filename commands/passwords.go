package commands

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
	"golang.org/x/sync/semaphore"
)

// Argon2id as OWASP's second choice has it: 19 MiB, two passes, one lane.
const (
	argonTime    = 2
	argonMemory  = 19 << 10 // KiB
	argonThreads = 1
	argonKey     = 32
	argonSalt    = 16
	// argonAtOnce bounds the memory of many sign-ins at once.
	argonAtOnce = 4
)

// Argon hashes passwords with argon2id. It is safe for concurrent use.
type Argon struct {
	gate  *semaphore.Weighted
	dummy string // verified for accounts that do not exist, so that both take as long
}

// NewArgon makes the hasher.
func NewArgon() *Argon {
	return &Argon{gate: semaphore.NewWeighted(argonAtOnce), dummy: encodeArgon(make([]byte, argonSalt), make([]byte, argonKey))}
}

func encodeArgon(salt, key []byte) string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(key))
}

// Hash gives the hash of a password in the PHC text form.
func (a *Argon) Hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, argonSalt)
	if _, err := rand.Read(salt); err != nil {
		return "", err
	}
	if err := a.gate.Acquire(ctx, 1); err != nil {
		return "", err
	}
	defer a.gate.Release(1)
	return encodeArgon(salt, argon2.IDKey([]byte(password), salt, argonTime, argonMemory, argonThreads, argonKey)), nil
}

// Verify says whether a password has a hash. An empty hash takes as long and is
// false.
func (a *Argon) Verify(ctx context.Context, hash, password string) (bool, error) {
	wanted := hash
	if wanted == "" {
		wanted = a.dummy
	}
	var version, memory, time, threads int
	parts := strings.Split(wanted, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false, fmt.Errorf("a stored password hash is not argon2id")
	}
	if _, err := fmt.Sscanf(parts[2]+" "+parts[3], "v=%d m=%d,t=%d,p=%d", &version, &memory, &time, &threads); err != nil {
		return false, fmt.Errorf("a stored password hash is not readable: %w", err)
	}
	salt, err1 := base64.RawStdEncoding.DecodeString(parts[4])
	key, err2 := base64.RawStdEncoding.DecodeString(parts[5])
	if err1 != nil || err2 != nil {
		return false, fmt.Errorf("a stored password hash is not readable")
	}
	if err := a.gate.Acquire(ctx, 1); err != nil {
		return false, err
	}
	defer a.gate.Release(1)
	got := argon2.IDKey([]byte(password), salt, uint32(time), uint32(memory), uint8(threads), uint32(len(key)))
	return subtle.ConstantTimeCompare(got, key) == 1 && hash != "", nil
}
