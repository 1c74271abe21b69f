// Command rclone is rclone with what the tests use of it: copies between folders and S3.
package main

import (
	_ "github.com/rclone/rclone/backend/local"
	_ "github.com/rclone/rclone/backend/s3"
	"github.com/rclone/rclone/cmd"
	_ "github.com/rclone/rclone/cmd/copy"
)

func main() { cmd.Main() }
