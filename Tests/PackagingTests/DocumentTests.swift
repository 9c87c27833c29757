import Foundation
import TestSupport
import Testing
import Vocabulary

/// README.md, the guides and the documents beside them are true, and short.
@Suite struct DocumentTests {
    @Test func explainsEveryReasonAndNoOther() throws {
        let rows = try Documents.text("ReasonIDs").split(separator: "\n").filter { $0.hasPrefix("| `") }
        let ids = rows.compactMap { $0.split(separator: "`").dropFirst().first.map(String.init) }
        #expect(ids == Reason.allCases.map(\.rawValue))
        for row in rows {
            let meaning = row.split(separator: "|").last?.trimmingCharacters(in: .whitespaces) ?? ""
            #expect(meaning.count > 10, "\(row)")
        }
        // The status column agrees with the statuses in the code.
        let statuses = rows.map { $0.split(separator: "|")[1].trimmingCharacters(in: .whitespaces) }
        #expect(statuses == Reason.allCases.map { reason in reason.refusal.map { String($0.status) } ?? "–" })
    }

    // MARK: Links

    private struct Link: CustomStringConvertible {
        /// The document that has it.
        var document: Document
        /// The path below the package's root that it leads to; the document's own for a link to a section.
        var path: String
        var section: String?
        var description: String { "\(self.document) links to \(self.path)\(self.section.map { "#\($0)" } ?? "")" }
    }

    /// The links of a document to files and sections of the repository.
    private static func links(of document: Document) -> [Link] {
        let prose = document.passages.joined(separator: "\n\n").replacing(/`[^`\n]*`/, with: "")
        return prose.matches(of: /\]\(([^)\s#]*)(#[^)\s]+)?\)/).compactMap { match in
            let target = String(match.1)
            guard !target.contains(":"), !target.isEmpty || match.2 != nil else { return nil }
            var steps = document.path.split(separator: "/")
            if !target.isEmpty { steps.removeLast() }
            for step in target.split(separator: "/") where step != "." {
                if step == ".." { _ = steps.popLast() } else { steps.append(step) }
            }
            let path = steps.joined(separator: "/")
            return Link(document: document, path: path, section: match.2.map { String($0.dropFirst()) })
        }
    }

    /// The sections of a document, by the rules by which forges name them.
    private static func sections(of document: Document) -> [String] {
        document.headings.map { heading in
            let name = heading.drop { $0 == "#" }.dropFirst().lowercased().replacing(" ", with: "-")
            return name.filter { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" }
        } + document.text.matches(of: /<a id="([^"]+)"/).map { String($0.1) }
    }

    @Test func linksLeadToFilesAndSectionsThatExist() throws {
        let documents = try Documents.all() + Documents.others()
        let links = documents.flatMap(Self.links)
        #expect(links.count > 200)
        for link in links {
            // Pages of the repository at its host, above all files.
            if link.path == "releases" || link.path.hasPrefix("security/") { continue }
            let file = PackageFiles.root.appending(path: link.path).path
            #expect(FileManager.default.fileExists(atPath: file), "\(link)")
            guard let section = link.section else { continue }
            let target = try #require(documents.first { $0.path == link.path }, "\(link)")
            #expect(Self.sections(of: target).contains(section), "\(link)")
        }
    }

    /// DocC names sections in another way than forges do.
    @Test func guidesLinkToGuidesAndNotToTheirSections() throws {
        for link in try Documents.guides().flatMap(Self.links) where link.path.hasPrefix(Documents.catalog) {
            #expect(link.section == nil, "\(link)")
        }
    }

    @Test func namesFilesThatExist() throws {
        for document in try Documents.all() + Documents.others() {
            let names = document.text.matches(of: /(?:^|[^\w\/.\-])((?:deploy|Config|Sources|Tests)\/[\w.\/-]*\w)/)
            for path in Set(names.map { String($0.1) }) {
                let file = PackageFiles.root.appending(path: path).path
                #expect(FileManager.default.fileExists(atPath: file), "\(document): \(path)")
            }
        }
    }

    // MARK: The README

    /// It leads to every guide, and what it shows of them is what they show: there each block runs in a test.
    @Test func readmeIsTheDoorToTheGuides() throws {
        let readme = try Document("README.md")
        #expect(readme.text.split(separator: "\n", omittingEmptySubsequences: false).count <= 301)
        let guides = try Documents.guides().filter { $0.name != "Sallyport" }
        let index = try #require(readme.section("## The guides"))
        for guide in guides {
            let title = guide.headings.first?.dropFirst(2) ?? ""
            #expect(index.text.contains("[\(title)](\(guide.path))"), "\(guide)")
        }
        let blocks = Set(guides.flatMap(\.blocks).map(\.text))
        for block in readme.blocks where block.language != "mermaid" {
            #expect(blocks.contains(block.text), "\(block.text)")
        }
        // The comparison is a part of the guide's.
        let choosing = try Documents.text("Choosing").split(separator: "\n")
        let section = try #require(readme.section("## Comparison"))
        let rows = section.text.split(separator: "\n").filter { $0.hasPrefix("|") }
        #expect(rows.count > 10)
        for row in rows { #expect(choosing.contains(row), "\(row)") }
    }

    // MARK: The guides

    @Test func everyGuideIsListedOnceAndHasATitleOfItsOwn() throws {
        let guides = try Documents.guides()
        let root = try #require(guides.first { $0.name == "Sallyport" })
        #expect(guides.count > 40)
        let topics = try #require(root.section("## Topics"))
        let listed = Self.links(of: topics).map(\.path)
        #expect(listed.sorted() == guides.map(\.path).filter { $0 != root.path }.sorted())
        for guide in guides { #expect(guide.headings.filter { $0.hasPrefix("# ") }.count == 1, "\(guide)") }
        let titles = guides.compactMap(\.headings.first)
        #expect(Set(titles).count == guides.count)
        #expect(Set(guides.map(\.name)).count == guides.count)
        // A link is named as the guide is.
        for match in topics.text.matches(of: /\[([^\]]+)\]\(([^)]+)\)/) {
            let target = guides.first { $0.path == "\(Documents.catalog)/\(match.2)" }
            #expect(target?.headings.first == "# \(match.1)")
        }
    }

    /// DocC shows HTML and Mermaid as text.
    @Test func guidesHaveNeitherHTMLNorMermaid() throws {
        for guide in try Documents.guides() {
            #expect(!guide.blocks.contains { $0.language == "mermaid" }, "\(guide)")
            for passage in guide.passages {
                let prose = passage.replacing(/`[^`]*`/, with: "")
                #expect(!prose.contains(/<\/?[A-Za-z!][^>]*>/), "\(guide): \(passage)")
            }
        }
    }

    @Test func guidesAreShort() throws {
        for guide in try Documents.guides() where !Self.generated.contains(guide.name) {
            let lines = guide.text.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count <= 251, "\(guide) has \(lines.count) lines")
        }
    }

    @Test func paragraphsAreShort() throws {
        for guide in try Documents.guides() {
            for passage in guide.passages where !passage.hasPrefix("|") {
                // Each element of a list is a paragraph.
                for paragraph in passage.split(separator: /\n(?=- |\* |\d+\. )/) {
                    let words = paragraph.split(whereSeparator: \.isWhitespace).count
                    #expect(words <= 120, "\(guide): \(words) words: \(paragraph.prefix(60))")
                }
            }
        }
    }

    /// Written from the sources, as long as these have entries.
    private static let generated: Set<String> = ["ReasonIDs", "Commands", "Metrics", "AuditEvents"]
}
