package attribute

import (
	"math"

	"stepline/traceindex"
)

// IdleShare is a stretch of GPU idle time with the statement that the training thread was in.
type IdleShare = Share

// Idle cuts the GPU's idle time within the steps' span by the statement that the training thread was in.
func (a *Attribution) Idle(rank int) []IdleShare {
	var shares []IdleShare
	for v := range a.ranks[rank].ix.Idle() {
		shares = append(shares, a.Split(rank, v)...)
	}
	return shares
}

// addIdle adds a rank's idle time to its lines.
func (s *summing) addIdle(p *rankPlaces) {
	line := p.timelineOf(p.ix.TrainingThread)
	for v := range p.ix.Idle() {
		s.costs.Summary.GPUIdleNs += v.DurNs()
		line.split(v, func(part traceindex.Interval, id placeID) {
			row := s.row(id)
			if row == nil {
				s.costs.Summary.GPUIdleNoLineNs += part.DurNs()
				return
			}
			row.GPUIdleNs += part.DurNs()
		})
	}
}

// addCPU adds the training thread's time to its lines.
func (s *summing) addCPU(p *rankPlaces) {
	line := p.timelineOf(p.ix.TrainingThread)
	for stay, id := range line.stays(math.MinInt64) {
		if row := s.row(id); row != nil {
			row.CPUNs += stay.DurNs()
		}
	}
}
