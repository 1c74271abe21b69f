package aimdgrpc

var NotSent = notSent
