package run

var Holds = holds
