import Foundation
import TestSupport
import Testing

/// Code in the documents is what it says to be. Blocks that tell a whole story run in other tests.
@Suite struct GuideCodeTests {
    /// How a block of a language is read without being run: a program that judges the file behind its arguments.
    private static let readers = [
        "sh": ["bash", "-n"], "swift": ["swiftc", "-frontend", "-parse"],
        "python": ["python3", "-c", "import ast, sys; ast.parse(open(sys.argv[1]).read())"],
    ]

    @Test(arguments: readers.keys.sorted())
    func blockIsOfItsLanguage(_ language: String) throws {
        let reader = try #require(Self.readers[language])
        let file = FileManager.default.temporaryDirectory.appending(path: "sallyport-\(UUID()).\(language)")
        defer { try? FileManager.default.removeItem(at: file) }
        for document in try Documents.all() + Documents.others() {
            for block in document.blocks(language) {
                try block.write(to: file, atomically: true, encoding: .utf8)
                let read = try #require(try PackageFiles.run(reader + [file.path]))
                #expect(read.status == 0, "\(document): \(read.output)\n\(block)")
            }
        }
    }

    /// DocC and forges colour code by its language.
    @Test func everyBlockNamesItsLanguage() throws {
        for document in try Documents.all() {
            for block in document.blocks { #expect(!block.language.isEmpty, "\(document): \(block.text.prefix(60))") }
        }
    }

    /// The program has every command and option that a document shows, in a block or within a sentence.
    @Test func commandsExist() throws {
        let program = try ProgramCommand.root()
        var count = 0
        for document in try Documents.all() + Documents.others() {
            let sentences = document.passages.flatMap { passage in passage.matches(of: /`([^`]+)`/).map { String($0.1) }
            }
            for code in document.blocks("sh") + sentences {
                let line = code.replacing("\\\n", with: " ")
                for match in line.matches(of: /(?:^|[\s\/($|])sallyport ((?:[a-z]|--)[^|;&)\n`]*)/) {
                    let words = match.1.split(separator: " ")
                    let (command, length) = program.named(by: words)
                    // The name of an image, or of what a chart installs.
                    guard length > 0 || !line.contains(#/\b(docker|helm) /#) else { continue }
                    #expect(length > 0 || words[0] == "--version", "\(document): \(match.0)")
                    count += 1
                    let known = command.allOptions
                    for word in words where word.hasPrefix("--") {
                        let option = word.prefix { $0 == "-" || $0.isLetter || $0.isNumber }
                        #expect(known.contains(String(option)), "\(document): \(option) in \(match.0)")
                    }
                }
            }
        }
        #expect(count > 150)
    }
}
