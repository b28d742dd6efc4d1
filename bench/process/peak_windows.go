package process

import "os"

// peakBytes is not told for a process that has ended.
func peakBytes(*os.ProcessState) (int64, bool) { return 0, false }
