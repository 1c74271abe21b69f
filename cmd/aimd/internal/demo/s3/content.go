package s3

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// content is the content of object i: the same for every strategy, and
// different for every object, so that a mix-up does not go unseen.
func content(i int, size int64) []byte {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], uint64(i))
	b := make([]byte, size)
	_, _ = rand.NewChaCha8(seed).Read(b) // never fails
	return b
}

func name(i int) string { return fmt.Sprintf("object-%07d", i) }
