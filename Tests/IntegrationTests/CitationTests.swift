import Foundation
import GatewayBench
import TestSupport
import Testing

/// Every citation in comments, names of tests and documents can be looked up: in `Advisory.table`, in `Fault.promises`,
/// or outside.
@Suite("Citations") struct CitationTests {
    /// The sources, the tests and the documents, by their paths relative to the repository's root.
    private static func texts() throws -> [String: String] {
        var texts: [String: String] = [:]
        for folder in ["Sources", "Tests", "Config", "deploy"] {
            let root = Gateway.root.appending(path: folder)
            let files = FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
            for file in files where file.hasSuffix(".swift") || file.hasSuffix(".yaml") {
                texts["\(folder)/\(file)"] = try String(contentsOf: root.appending(path: file), encoding: .utf8)
            }
        }
        for document in try Documents.all() + Documents.others() { texts[document.path] = document.text }
        return texts
    }

    /// The rows that a text cites. A letter with a number inside a word, a number, a path or an escape is not a
    /// citation.
    static func citations(in text: String) -> Set<String> {
        Set(text.matches(of: /(?:^|[\s"(,])([TFP][1-9][0-9]?)(?=[:,;.)\s])/).map { String($0.1) })
    }

    /// The rows with which the names of tests begin, and what else stands there before a colon.
    static func rows(inNamesOf text: String) -> Set<String> {
        Set(text.matches(of: /@Test\(\s*"([^":]+):/).flatMap { $0.1.split(separator: ", ").map(String.init) })
    }

    @Test("Every row that is cited exists, and for every fault there are tests whose names begin with it")
    func rows() throws {
        let known = Set(Advisory.table.map(\.id)).union(Fault.promises.keys.map { "F\($0)" })
        var tried: Set<String> = []
        for (path, text) in try Self.texts() where path != "Tests/IntegrationTests/FaultTable.swift" {
            let here = Self.citations(in: text)
            for citation in here where !known.contains(citation) {
                Issue.record("\(path) cites \(citation), which is no row of Advisory.table or Fault.promises")
            }
            if path.hasPrefix("Tests/") { tried.formUnion(Self.rows(inNamesOf: text)) }
        }
        for number in Fault.promises.keys {
            #expect(tried.contains("F\(number)"), "no test's name begins with F\(number)")
        }
    }

    @Test("Advisories are cited by their full ids, and documents outside the repository are not cited")
    func outside() throws {
        for (path, text) in try Self.texts() where path != "Tests/IntegrationTests/CitationTests.swift" {
            for match in text.matches(of: /GHSA-[0-9a-z\-]*/) {
                #expect(match.0.utf8.count == 19, "\(path): \(match.0) is no full id")
            }
            for match in text.matches(of: /\b(peers|security|systems|engineering|newcomer|house|DESIGN)\.md\b/) {
                Issue.record("\(path) cites \(match.0)")
            }
            for match in text.matches(of: /\bC[1-9] #[0-9]+|\b[Rr]ows? [0-9]+:/) {
                Issue.record("\(path) cites \(match.0), which is no row of a table here")
            }
        }
    }

    @Test("The search finds citations and nothing else")
    func search() {
        #expect(Self.citations(in: "(T1, T15) \"F12: an answer\" P8; see T3.") == ["T1", "T15", "F12", "P8", "T3"])
        #expect(Self.rows(inNamesOf: "@Test(\"F1, T2: F4\") @Test(\n \"F3: y\") \"F5: z\"") == ["F1", "T2", "F3"])
        #expect(Self.citations(in: "%F0%9F T100 HTTP1 2001:F1:: \\u{F6} T0").isEmpty)
    }
}
