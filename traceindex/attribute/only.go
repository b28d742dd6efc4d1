package attribute

// Only is the attribution of one rank as a run of its own.
func (a *Attribution) Only(rank int) *Attribution {
	only, run := *a, *a.Run
	run.Ranks = run.Ranks[rank : rank+1 : rank+1]
	run.Files = []string{run.Ranks[0].Meta.File}
	only.Run, only.ranks = &run, a.ranks[rank:rank+1:rank+1]
	return &only
}
