package tag_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/tag"
)

func TestTagsTravelInTheContext(t *testing.T) {
	ctx := context.Background()
	assert.Zero(t, tag.FromContext(ctx))
	assert.Equal(t, tag.Critical, tag.FromContext(ctx).Criticality, "a request that says nothing is critical")

	ctx = tag.NewContext(ctx, tag.Tags{Client: "backup", Version: "1.4.2", Attempt: 2})
	ctx = tag.WithCriticality(tag.WithFeature(ctx, "nightly"), tag.Sheddable)
	got := tag.FromContext(ctx)
	assert.Equal(t, tag.Tags{Client: "backup", Version: "1.4.2", Feature: "nightly", Criticality: tag.Sheddable, Attempt: 2}, got)
}

func TestCriticalityHasANameEachAndAnOrder(t *testing.T) {
	for c := tag.Sheddable; c <= tag.CriticalPlus; c++ {
		text, err := c.MarshalText()
		require.NoError(t, err)
		back := tag.CriticalPlus + 1
		require.NoError(t, back.UnmarshalText(text))
		assert.Equal(t, c, back)
	}
	err := new(tag.Criticality).UnmarshalText([]byte("urgent"))
	assert.EqualError(t, err, `criticality: "urgent" is not allowed, want sheddable, sheddable-plus, critical or critical-plus`)
	_, err = tag.Criticality(7).MarshalText()
	assert.EqualError(t, err, "criticality: 7 is not allowed, want a number from -2 to 1")
	c := tag.Sheddable
	require.Error(t, c.UnmarshalText([]byte("x")))
	assert.Equal(t, tag.Sheddable, c, "a wrong name changes nothing")
	assert.Equal(t, "Criticality(7)", tag.Criticality(7).String())
}

func ExampleWithCriticality() {
	ctx := tag.NewContext(context.Background(), tag.Tags{Client: "photos", Version: "2.1"})
	background := tag.WithCriticality(tag.WithFeature(ctx, "thumbnails"), tag.SheddablePlus)
	fmt.Printf("%+v\n", tag.FromContext(background))
	// Output: {Client:photos Version:2.1 Feature:thumbnails Criticality:sheddable-plus Attempt:0}
}

func ExampleCriticality_UnmarshalText() {
	var c tag.Criticality // from a flag, or a file of settings
	fmt.Println(c.UnmarshalText([]byte("sheddable-plus")), c, c < tag.Critical)
	fmt.Println(c.UnmarshalText([]byte("urgent")))
	// Output:
	// <nil> sheddable-plus true
	// criticality: "urgent" is not allowed, want sheddable, sheddable-plus, critical or critical-plus
}

// A handler decides by what the server found in the request's headers.
func ExampleFromContext() {
	ctx := tag.NewContext(context.Background(), tag.Tags{Client: "photos", Attempt: 2})
	tags := tag.FromContext(ctx)
	fmt.Println(tags.Client, tags.Criticality, tags.Attempt)
	// Output: photos critical 2
}
