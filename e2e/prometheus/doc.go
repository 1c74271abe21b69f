// Package prometheus tests the metrics of contrib/prometheus and its dashboard with a real
// Prometheus and promtool (Debian's package is prometheus).
package prometheus
