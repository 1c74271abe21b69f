package measure

// Watcher is told when runs begin and end, and may look at the Meter in
// between. Warn tells what went wrong beside the runs.
type Watcher interface {
	Begin(strategy string, m *Meter)
	End(r Result)
	Warn(err error)
}
