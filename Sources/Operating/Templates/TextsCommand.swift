import ArgumentParser
import Pages
import Vocabulary

/// `sallyport texts`: prints the texts of the gateway's pages, for translation.
struct TextsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "texts",
        abstract: "Print the texts of the pages in one language, as a file for pages.templates_dir.",
        discussion: """
            To reword texts, write the changed lines to LANGUAGE.yaml in the directory in pages.templates_dir. To add a \
            language, translate all lines and add its tag to pages.languages. Words in braces are replaced by values.
            """
    )

    @Option(help: "One of \(PageLanguage.included.map(\.tag).joined(separator: ", ")).")
    var language = "en"

    func run() throws {
        guard let language = PageLanguage.included.first(where: { $0.tag == self.language }) else {
            let tags = PageLanguage.included.map(\.tag).joined(separator: ", ")
            throw ValidationError("no texts for \(self.language): use one of \(tags)")
        }
        for key in PageLanguage.keys {
            let text = JSONText.encode(.string(language[key] ?? ""))
            Console.say("\(key): \(String(decoding: text, as: UTF8.self))")
        }
    }
}
