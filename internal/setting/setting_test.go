package setting_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/setting"
)

func TestErrorIsFoundInWhatWrapsIt(t *testing.T) {
	err := fmt.Errorf("limiter: %w", setting.Wrong("patience", -1, "a number from %d", 1))
	assert.EqualError(t, err, "limiter: patience: -1 is not allowed, want a number from 1")
	var e *setting.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, setting.Error{Name: "patience", Value: "-1", Want: "a number from 1"}, *e)
}

func TestNil(t *testing.T) {
	err := setting.Nil("guard")
	assert.EqualError(t, err, "guard: nil is not allowed")
	var e *setting.Error
	assert.True(t, errors.As(err, &e))
}
