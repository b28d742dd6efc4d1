// Package rules is the frame every lint rule runs in: rules, findings, fixes and prices.
package rules
