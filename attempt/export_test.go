package attempt

var Holds = holds
