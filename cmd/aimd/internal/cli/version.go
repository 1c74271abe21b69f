package cli

import "runtime/debug"

// version is what the build knows of itself, in one line: the module's version, the
// commit if it was built in a checkout, and Go's version.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	return describe(info)
}

func describe(info *debug.BuildInfo) string {
	commit, modified := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = "commit " + s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = " with changes"
		}
	}
	if commit != "" {
		commit += modified + ", "
	}
	return info.Main.Version + " (" + commit + info.GoVersion + ")"
}
