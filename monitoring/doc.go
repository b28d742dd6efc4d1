// Package monitoring holds what Prometheus and Grafana need: alert rules (alerts.yml, their tests in alerts_test.yml) and a
// dashboard (grafana/stepline.json). Where the figures come from, docs/guides/monitoring.md says.
//
// There is no code but tests: the names in rules and dashboard are ones that stepline writes, and with `make test-monitoring`
// a real Prometheus scrapes a training and reports, and answers every query of the dashboard with data.
package monitoring
