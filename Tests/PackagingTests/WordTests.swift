import Foundation
import TestSupport
import Testing

/// Rules for words that a machine can check. Readers had to read the phrases of these lists twice.
@Suite struct WordTests {
    /// A phrase to avoid, as a regular expression, and what to write instead.
    private struct Phrase {
        let pattern: String
        let instead: String
    }

    /// Phrases to avoid everywhere.
    private static let phrases = [
        Phrase(pattern: #", else\b"#, instead: "otherwise"),
        Phrase(pattern: #"\bin place of\b"#, instead: "instead of"),
        Phrase(
            pattern: #"\b(is|are|does|do|has|have|was|were|can|will)\b[^.]{0,40}\bnot\b[^.]{0,60}\bany more\b"#,
            instead: "no longer"
        ),
        Phrase(pattern: #"\bnevertheless\b"#, instead: "still"),
        Phrase(pattern: #"\bwhoever\b"#, instead: "anyone who"),
        Phrase(pattern: #"\bgoes with\b"#, instead: "belongs to, is sent with"),
        Phrase(pattern: #"\b[Aa]lso then\b"#, instead: "even then"),
        Phrase(pattern: #"\bmend(s|ed|ing)?\b"#, instead: "fix"),
        Phrase(pattern: #"\bat the latest\b"#, instead: "within, by"),
    ]

    /// Phrases to avoid in comments: each is read without the declaration above it.
    private static let inComments = [
        Phrase(pattern: #"(^|[.:;] )nil: "#, instead: "`nil` if ..."),
        Phrase(pattern: #"^The same\b"#, instead: "the name of the thing"),
        Phrase(pattern: #"\b(?!there )\w+ (is|are) none\b"#, instead: "is not a ..."),
        Phrase(pattern: #"\bmakes? of (it|them|this)\b"#, instead: "turns into"),
        Phrase(pattern: #": (all|none|any|never|of all)\.?$"#, instead: "a sentence with if"),
    ]

    /// The comments of a file as paragraphs, each with the number of its first line.
    private static func comments(_ path: String) throws -> [(number: Int, text: String)] {
        var paragraphs: [(number: Int, text: String)] = []
        var isOpen = false
        let lines = try PackageFiles.text(path).split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let code = line.drop { $0 == " " }
            let text = code.drop { $0 == "/" }.drop { $0 == " " }
            guard code.hasPrefix("//"), !text.isEmpty else {
                isOpen = false
                continue
            }
            let isNew = text.hasPrefix("- ")
            if isOpen, !isNew {
                paragraphs[paragraphs.count - 1].text += " \(text)"
            } else {
                paragraphs.append((index + 1, String(isNew ? text.dropFirst(2) : text)))
                isOpen = true
            }
        }
        return paragraphs
    }

    @Test func commentsAvoidPhrasesThatAreReadTwice() throws {
        let phrases = try (Self.phrases + Self.inComments).map { (try Regex($0.pattern), $0.instead) }
        var count = 0
        for path in PackageFiles.swift(below: "Sources") {
            for comment in try Self.comments(path) {
                count += 1
                for (pattern, instead) in phrases {
                    guard let match = comment.text.firstMatch(of: pattern) else { continue }
                    let phrase = comment.text[match.range]
                    Issue.record("\(path):\(comment.number): \"\(phrase)\" in a comment; better: \(instead)")
                }
            }
        }
        #expect(count > 5000)
    }

    @Test func commentsKeepToTheColumns() throws {
        for path in PackageFiles.swift(below: "Sources") {
            let lines = try PackageFiles.text(path).split(separator: "\n", omittingEmptySubsequences: false)
            for (index, line) in lines.enumerated()
            where line.count > 120 && line.drop(while: { $0 == " " }).hasPrefix("//") {
                Issue.record("\(path):\(index + 1): a comment of \(line.count) columns; the limit is 120")
            }
        }
    }

    // MARK: Guides

    /// Written from the sources, where the words are.
    private static let generated: Set<String> = ["Commands", "Metrics", "AuditEvents", "ReasonIDs"]

    /// The prose of the README and the guides: paragraphs, items of lists and cells of tables without code and links.
    private static func prose(of document: Document) -> [String] {
        var texts: [String] = []
        for passage in document.passages where !passage.hasPrefix("#") {
            for part in passage.split(separator: /\n(?=\s*(?:- |\d+\. |\|))/) {
                let text = String(part).replacing(/`[^`]*`/, with: "code").replacing(/\]\([^)]*\)/, with: "]")
                    .replacing("\n", with: " ")
                texts += text.hasPrefix("|") ? text.split(separator: "|").map(String.init) : [text]
            }
        }
        return texts
    }

    @Test func guidesAvoidPhrasesThatAreReadTwice() throws {
        let phrases = try Self.phrases.map { (try Regex($0.pattern), $0.instead) }
        for document in try Documents.all() where !Self.generated.contains(document.name) {
            for text in Self.prose(of: document) {
                for (pattern, instead) in phrases {
                    guard let match = text.firstMatch(of: pattern) else { continue }
                    Issue.record("\(document): \"\(text[match.range])\" in \"\(text.prefix(80))\"; better: \(instead)")
                }
            }
        }
    }

    @Test func sentencesOfGuidesAreShort() throws {
        var count = 0
        for document in try Documents.all() where !Self.generated.contains(document.name) {
            // A list of links is no sentence.
            for text in Self.prose(of: document) where !text.contains("] · [") {
                for sentence in text.split(separator: /[.!?:;]\s/) {
                    let words = sentence.split(whereSeparator: \.isWhitespace).count
                    count += 1
                    #expect(words <= 32, "\(document): a sentence of \(words) words: \(sentence.prefix(100))")
                }
            }
        }
        #expect(count > 3000)
    }

    // MARK: Commits

    /// The commit before the first one to which the rule applies.
    private static let ruleless = "451342e534def0aa8e75726ead58a6f7fff94a59"

    /// True if the commit is in the history. A copy without it has nothing to check.
    private static let hasHistory =
        (try? PackageFiles.run(["git", "cat-file", "-e", "\(ruleless)^{commit}"]))?.status == 0

    @Test(.enabled(if: hasHistory, "the copy of the repository has no history"))
    func commitsHaveAShortSubjectAndABody() throws {
        let log = try #require(
            try PackageFiles.run(["git", "log", "--no-merges", "--format=%h%x1f%s%x1f%b%x1e", "\(Self.ruleless)..HEAD"])
        )
        #expect(log.status == 0)
        for commit in log.output.split(separator: "\u{1E}") where commit.contains("\u{1F}") {
            let parts = commit.split(separator: "\u{1F}", omittingEmptySubsequences: false)
            let (hash, subject, body) = (parts[0].trimmingCharacters(in: .whitespacesAndNewlines), parts[1], parts[2])
            #expect(subject.count <= 72, "\(hash): a subject of \(subject.count) characters; at most 72")
            #expect(body.contains { !$0.isWhitespace }, "\(hash): \"\(subject)\" has no body that says why")
        }
    }
}
