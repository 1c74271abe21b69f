package schedule

// NewOn is New with a clock in the place of the real one.
var NewOn = newOn
