package main

import "os"

func main() { os.Stdout.WriteString("hello\n") }
