import ArgumentParser
import Operating

/// `sallyport completion`: prints a completion script for a shell.
struct CompletionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "completion",
        abstract: "Print the completion script for a shell.",
        discussion: """
            bash: sallyport completion bash > /etc/bash_completion.d/sallyport
            zsh:  sallyport completion zsh > "${fpath[1]}/_sallyport"
            fish: sallyport completion fish > ~/.config/fish/completions/sallyport.fish
            """
    )

    enum Shell: String, ExpressibleByArgument, CaseIterable {
        case bash, zsh, fish
    }

    @Argument(help: ArgumentHelp("bash, zsh or fish.", valueName: "shell"))
    var shell: Shell

    func run() {
        let script =
            switch self.shell {
            case .bash: Sallyport.completionScript(for: .bash)
            case .zsh: Sallyport.completionScript(for: .zsh)
            case .fish: Sallyport.completionScript(for: .fish)
            }
        Console.say(script)
    }
}
