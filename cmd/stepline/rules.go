package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"stepline/report"
	"stepline/rules"
	"stepline/rules/catalog"
)

func newRulesCommand(io streams) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "List the lint rules",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all := append(catalog.All(), rules.UnusedSuppression())
			switch format {
			case "json":
				return report.WriteJSON(io.out, report.NewRulesDocument(all))
			case "text":
				style, err := io.style(cmd)
				if err != nil {
					return err
				}
				return report.WriteRulesText(io.out, all, style)
			default:
				return usageError("--format %s: use text or json", format)
			}
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text or json")
	return cmd
}

func newExplainCommand(io streams) *cobra.Command {
	return &cobra.Command{
		Use:   "explain RULE",
		Short: "Print a rule's page",
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) != 1 {
				return usageError("name one rule, as in `stepline explain SYN001`; `stepline rules` lists them")
			}
			return nil
		},
		ValidArgsFunction: completeRules,
		RunE: func(_ *cobra.Command, arguments []string) error {
			rule := catalog.Find(strings.TrimSpace(arguments[0]))
			if unused := rules.UnusedSuppression(); rule == nil && (strings.EqualFold(arguments[0], unused.ID) || arguments[0] == unused.Name) {
				rule = unused
			}
			if rule == nil {
				return usageError("there is no rule %q; `stepline rules` lists them", arguments[0])
			}
			_, err := fmt.Fprintln(io.out, strings.TrimSpace(rule.Page))
			return err
		},
	}
}

func completeRules(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var ids []string
	for _, rule := range catalog.All() {
		ids = append(ids, rule.ID+"\t"+rule.Name)
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
