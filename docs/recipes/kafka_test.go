package recipes

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/produce"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
)

func kafkaLimiter() (*aimd.Limiter, error) {
	throttled := func(err error) attempt.Verdict {
		if errors.Is(err, kafka.ThrottlingQuotaExceeded) {
			return attempt.Verdict{Outcome: aimd.Overload, Retry: true}
		}
		return attempt.Verdict{} // kafka-go has Timeout and Temporary for the others
	}
	return aimd.New(aimd.WithClassifier(attempt.FirstOf(throttled, attempt.Classify)))
}

func send(ctx context.Context, lim *aimd.Limiter, client *kafka.Client, topic string, value []byte) error {
	return lim.Do(ctx, func(ctx context.Context) error {
		answer, err := client.Produce(ctx, &kafka.ProduceRequest{
			Topic: topic, RequiredAcks: kafka.RequireAll,
			Records: kafka.NewRecordReader(kafka.Record{Value: kafka.NewBytes(value)}),
		})
		if err != nil {
			return err
		}
		return answer.Error
	})
}

// broker answers with these errors in turn, and then well.
type broker []kafka.Error

func (b *broker) RoundTrip(_ context.Context, _ net.Addr, req kafka.Request) (kafka.Response, error) {
	code := int16(0)
	if len(*b) > 0 {
		code, *b = int16((*b)[0]), (*b)[1:]
	}
	return &produce.Response{Topics: []produce.ResponseTopic{{
		Topic:      req.(*produce.Request).Topics[0].Topic,
		Partitions: []produce.ResponsePartition{{ErrorCode: code}},
	}}}, nil
}

func TestKafka(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim, err := kafkaLimiter()
		require.NoError(t, err)
		b := &broker{kafka.ThrottlingQuotaExceeded, kafka.RequestTimedOut, kafka.LeaderNotAvailable}
		client := &kafka.Client{Addr: kafka.TCP("service.example:9092"), Transport: b}
		require.NoError(t, send(t.Context(), lim, client, "orders", []byte("1")))
		s := lim.Snapshot()
		require.EqualValues(t, []uint64{1, 1, 1, 1}, []uint64{s.Successes, s.Overloads, s.Timeouts, s.Neutrals})
		*b = broker{kafka.MessageSizeTooLarge}
		require.ErrorIs(t, send(t.Context(), lim, client, "orders", []byte("1")), kafka.MessageSizeTooLarge)
	})
}
