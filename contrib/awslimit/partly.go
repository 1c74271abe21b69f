package awslimit

import (
	"fmt"
	"reflect"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// batches are the fields of an output with the items of a batch: those that may have failed, each with a code, and those
// that were done. S3's DeleteObjects; SQS and SNS; Kinesis's PutRecords; Firehose's PutRecordBatch.
var batches = []struct{ failed, done string }{{"Errors", "Deleted"}, {"Failed", "Successful"}, {"Records", ""}, {"RequestResponses", ""}}

// fewest is the share of a batch from which refused items speak of load, one in so many: as package answer has it.
const fewest = 10

// partly returns an error if the service took the batch of the input, and refused a tenth of its items or more for load;
// nil for any other output.
func partly(input, output any) error {
	in, out := fields(input), fields(output)
	items, refused := 0, 0
	for _, b := range batches {
		failed, done := list(out, b.failed), list(out, b.done)
		for i := range failed.Len() {
			if refuses(failed.Index(i)) {
				refused++
			}
		}
		items += failed.Len() + done.Len()
	}
	for _, name := range []string{"UnprocessedItems", "UnprocessedKeys"} { // DynamoDB: by table
		refused += counted(out.FieldByName, name)
	}
	if refused == 0 {
		return nil
	}
	items = max(items, counted(in.FieldByName, "RequestItems"), list(fields(value(in, "Delete")), "Objects").Len()) // S3 may list what failed alone
	if refused*fewest < items {
		return nil
	}
	return aimd.Partly(fmt.Errorf("%d of %d items were refused", refused, max(items, refused)))
}

// fields is the struct of a pointer, an empty one for anything else.
func fields(of any) reflect.Value {
	if v := reflect.Indirect(reflect.ValueOf(of)); v.Kind() == reflect.Struct {
		return v
	}
	return reflect.ValueOf(struct{}{})
}

func value(of reflect.Value, name string) any {
	if f := of.FieldByName(name); f.IsValid() && f.CanInterface() {
		return f.Interface()
	}
	return nil
}

// list is a field that is a list, an empty one for any other.
func list(of reflect.Value, name string) reflect.Value {
	if f := of.FieldByName(name); f.IsValid() && f.Kind() == reflect.Slice {
		return f
	}
	return reflect.ValueOf([]any{})
}

func refuses(item reflect.Value) bool {
	for _, name := range []string{"Code", "ErrorCode"} {
		if item = reflect.Indirect(item); item.Kind() != reflect.Struct {
			return false
		}
		if code, _ := value(item, name).(*string); code != nil {
			return verdict.VerdictOf(answer.Of(*code, "", 0)).Outcome() == window.Overload
		}
	}
	return false
}

// counted is the number of items in a map of tables: a list for each, or a struct with the list Keys.
func counted(field func(string) reflect.Value, name string) (n int) {
	tables := field(name)
	if tables.Kind() != reflect.Map {
		return 0
	}
	for _, table := range tables.Seq2() {
		if table.Kind() == reflect.Struct {
			table = table.FieldByName("Keys")
		}
		if table.IsValid() && table.Kind() == reflect.Slice {
			n += table.Len()
		}
	}
	return n
}
