package awslimit

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// The outputs of services whose modules are not required here, by the fields that the SDK gives them.
type (
	entry struct{ Code, Message *string }
	put   struct{ ErrorCode *string }
	keys  struct{ Keys []map[string]string }

	sqsOutput      struct{ Failed, Successful []entry }
	kinesisOutput  struct{ Records []put }
	firehoseOutput struct{ RequestResponses []put }
	writeInput     struct{ RequestItems map[string][]int }
	writeOutput    struct{ UnprocessedItems map[string][]int }
	readInput      struct{ RequestItems map[string]keys }
	readOutput     struct{ UnprocessedKeys map[string]keys }
	otherOutput    struct{ Records []string }
)

// A tenth of the items that is refused for load is an overload, and less is not; nor is an item at fault.
func TestOutputsOfBatches(t *testing.T) {
	slow, wrong := aws.String("SlowDown"), aws.String("NoSuchKey")
	for name, c := range map[string]struct {
		input, output any
		want          bool
	}{
		"S3, a key of two":         {&s3.DeleteObjectsInput{}, &s3.DeleteObjectsOutput{Deleted: make([]types.DeletedObject, 1), Errors: []types.Error{{Code: slow}}}, true},
		"S3, a key of ten":         {nil, &s3.DeleteObjectsOutput{Deleted: make([]types.DeletedObject, 9), Errors: []types.Error{{Code: slow}}}, true},
		"S3, a key of eleven":      {nil, &s3.DeleteObjectsOutput{Deleted: make([]types.DeletedObject, 10), Errors: []types.Error{{Code: slow}}}, false},
		"S3, quiet, one of eleven": {&s3.DeleteObjectsInput{Delete: &types.Delete{Objects: make([]types.ObjectIdentifier, 11)}}, &s3.DeleteObjectsOutput{Errors: []types.Error{{Code: slow}}}, false},
		"S3, a key at fault":       {nil, &s3.DeleteObjectsOutput{Errors: []types.Error{{Code: wrong}}}, false},
		"SQS":                      {nil, &sqsOutput{Failed: []entry{{Code: aws.String("Throttled")}}, Successful: make([]entry, 1)}, true},
		"Kinesis":                  {nil, &kinesisOutput{[]put{{}, {aws.String("ProvisionedThroughputExceededException")}}}, true},
		"Kinesis, all taken":       {nil, &kinesisOutput{make([]put, 3)}, false},
		"Firehose":                 {nil, &firehoseOutput{[]put{{aws.String("ServiceUnavailableException")}}}, true},
		"DynamoDB, two of two":     {&writeInput{map[string][]int{"a": {1, 2}}}, &writeOutput{map[string][]int{"a": {1, 2}}}, true},
		"DynamoDB, one of eleven":  {&writeInput{map[string][]int{"a": make([]int, 11)}}, &writeOutput{map[string][]int{"a": {1}}}, false},
		"DynamoDB, a key of two":   {&readInput{map[string]keys{"a": {make([]map[string]string, 2)}}}, &readOutput{map[string]keys{"a": {make([]map[string]string, 1)}}}, true},
		"DynamoDB, none":           {&writeInput{map[string][]int{"a": {1}}}, &writeOutput{}, false},
		"records of another kind":  {nil, &otherOutput{[]string{"SlowDown"}}, false},
		"no output":                {nil, nil, false},
	} {
		err := partly(c.input, c.output)
		assert.Equal(t, c.want, err != nil, name)
		assert.Equal(t, c.want, err != nil && verdict.Classify(err).Outcome() == window.Overload, name)
	}
}
