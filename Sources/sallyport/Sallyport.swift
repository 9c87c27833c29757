import CommandParsing
import Vocabulary

/// `sallyport`: one binary, a command for each thing an operator does with it.
@main
enum Sallyport {
    private static let commands = CommandGroup(
        CommandSummary(
            name: "sallyport",
            abstract: "A session gateway: native-to-web single sign-on in front of any web app."
        ),
        [
            .command(RunCommand.self), .command(DemoCommand.self), .command(CheckCommand.self),
            .command(ExplainCommand.self), .command(HealthcheckCommand.self), .group(LimitsCommand.group),
            .command(TextsCommand.self), .group(KeysCommand.group), .command(HashPasswordCommand.self),
            .command(VerifyCommand.self), .command(DPoPProofCommand.self),
        ]
    )

    static func main() async {
        Process.exit(await self.status(of: Array(CommandLine.arguments.dropFirst())))
    }

    /// The exit status of what the words ask for: 0, 1 if it fails, or 64 (`EX_USAGE` of sysexits.h) if they make no sense.
    private static func status(of words: [String]) async -> Int32 {
        let parser = CommandParser(self.commands, version: Version.current)
        do {
            switch try parser.parse(words) {
            case .text(let text): Console.say(text)
            case .run(let command): try await command.run()
            }
            return 0
        } catch is CommandFailure {
            return 1
        } catch let refusal as CommandParser.Refusal {
            Console.complain(refusal.text)
        } catch let error as UsageError {
            // What the values name is not as it must be.
            Console.complain("Error: \(error)")
        } catch {
            Console.complain("Error: \(error)")
            return 1
        }
        return 64
    }
}
