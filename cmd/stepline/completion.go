package main

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var completionShells = []string{"bash", "zsh", "fish", "powershell"}

func newCompletionCommand(io streams) *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the completion script for a shell",
		Long: `Prints a script for bash, zsh, fish or powershell that completes commands, options, their values, rules and templates. It asks
stepline itself, so it stays right when stepline changes. bash needs the package bash-completion.`,
		Example: `  stepline completion bash > ~/.local/share/bash-completion/completions/stepline
  stepline completion zsh > "${fpath[1]}/_stepline"
  stepline completion fish > ~/.config/fish/completions/stepline.fish
  stepline completion powershell | Out-String | Invoke-Expression`,
		ValidArgs: completionShells,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) != 1 {
				return usageError("name one shell: %s", strings.Join(completionShells, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, arguments []string) error {
			root := cmd.Root()
			switch arguments[0] {
			case "bash":
				return root.GenBashCompletionV2(io.out, true)
			case "zsh":
				return root.GenZshCompletion(io.out)
			case "fish":
				return root.GenFishCompletion(io.out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(io.out)
			default:
				return usageError("there is no completion for %q; there is for %s", arguments[0], strings.Join(completionShells, ", "))
			}
		},
	}
}

// completeValues has the values of options completed, as far as their own descriptions tell them: the folder of --root, and the
// words of options such as --format ("text, json or csv").
func completeValues(root *cobra.Command) {
	root.PersistentFlags().VisitAll(func(flag *pflag.Flag) { completeFlag(root, flag) })
	for _, cmd := range root.Commands() {
		cmd.Flags().VisitAll(func(flag *pflag.Flag) { completeFlag(cmd, flag) })
	}
}

func completeFlag(cmd *cobra.Command, flag *pflag.Flag) {
	switch flag.Name {
	case "root":
		_ = cmd.MarkFlagDirname(flag.Name) // fails for a flag that is not there
	case "format", "color", "log-level", "sort":
		if words := listedValues(flag.Usage); len(words) > 0 {
			_ = cmd.RegisterFlagCompletionFunc(flag.Name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // as above
		}
	}
}

var valueList = regexp.MustCompile(`[a-z]+(?:, [a-z]+)* or [a-z]+`)

// listedValues are the words of the last "a, b or c" in an option's description; none if there is no such list.
func listedValues(usage string) []string {
	lists := valueList.FindAllString(usage, -1)
	if len(lists) == 0 {
		return nil
	}
	return strings.Split(strings.ReplaceAll(lists[len(lists)-1], " or ", ", "), ", ")
}
