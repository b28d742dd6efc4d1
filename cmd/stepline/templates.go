package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"stepline/capture"
)

func newTemplatesCommand(io streams) *cobra.Command {
	return &cobra.Command{
		Use:   "templates",
		Short: "List the capture templates",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			list, err := capture.All()
			if err != nil {
				return err
			}
			for i := range list {
				if _, err := fmt.Fprintf(io.out, "%-15s  %s  (%s)\n", list[i].Name, list[i].Title, strings.Join(list[i].Formats(), ", ")); err != nil {
					return err
				}
			}
			_, err = fmt.Fprintln(io.out, "\n`stepline template NAME` prints one.")
			return err
		},
	}
}

func newTemplateCommand(out streams) *cobra.Command {
	var format string
	var set []string
	cmd := &cobra.Command{
		Use:   "template NAME",
		Short: "Print a capture template: what to run, why, and what it costs",
		Example: `  stepline template quick
  stepline template ddp --set gpus=4 --set script=train.py
  stepline template nsight-systems --format python`,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) != 1 {
				return usageError("name one template, as in `stepline template quick`; `stepline templates` lists them")
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			list, err := capture.All()
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			var names []string
			for i := range list {
				names = append(names, list[i].Name+"\t"+list[i].Title)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, arguments []string) error {
			template, err := capture.Find(arguments[0])
			if err != nil {
				return err
			}
			settings, err := namedValues("--set", set)
			if err != nil {
				return err
			}
			text, err := template.Render(format, settings)
			if err != nil {
				return err
			}
			_, err = io.WriteString(out.out, text)
			return err
		},
	}
	cmd.Flags().StringVar(&format, "format", "", "sh, python or yaml (default: the first that the template has)")
	cmd.Flags().StringArrayVar(&set, "set", nil, "a setting, as name=value (repeat)")
	return cmd
}
