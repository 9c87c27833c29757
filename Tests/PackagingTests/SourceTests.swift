import Foundation
import Testing

/// Rules that the compiler does not check.
@Suite struct SourceTests {
    /// The lines of a file without comments, numbered from 1. Lines within strings count as code.
    private static func code(_ path: String) throws -> [(number: Int, line: Substring)] {
        try PackageFiles.text(path).split(separator: "\n", omittingEmptySubsequences: false).enumerated()
            .map { ($0 + 1, $1) }
            .filter { !$0.1.trimmingPrefix(while: \.isWhitespace).hasPrefix("//") }
    }

    private static func places(of pattern: some RegexComponent, in paths: [String]) throws -> [String] {
        try paths.flatMap { path in
            try self.code(path).filter { $0.line.contains(pattern) }.map { "\(path):\($0.number)" }
        }
    }

    private static let sources = PackageFiles.swift(below: "Sources")
    private static let tests = PackageFiles.swift(below: "Tests")

    /// Without this file, which contains what it forbids.
    private static let others = tests.filter { !$0.hasSuffix("/SourceTests.swift") }

    @Test func findsTheSources() {
        #expect(Self.sources.count > 50 && Self.tests.count > 20)
    }

    @Test func givesNoTwoFilesOneName() {
        let paths = Dictionary(grouping: Self.sources) { $0.split(separator: "/").last }
        #expect(paths.values.filter { $0.count > 1 }.isEmpty)
    }

    @Test func declaresNothingPublic() throws {
        let places = try Self.places(of: /^\s*(@\w+\s+)*(public|open)\s+(?!import\b)\w/, in: Self.sources + Self.tests)
        #expect(places.isEmpty)
    }

    @Test func neverStopsTheProcessCarelessly() throws {
        #expect(try Self.places(of: /\btry!|\bfatalError\(|\bas!\s/, in: Self.sources).isEmpty)
    }

    @Test func printsFromTheCommandLineOnly() throws {
        let silent = Self.sources.filter { !$0.hasPrefix("Sources/sallyport/") }
        #expect(try Self.places(of: /(^|[^.\w])(print|debugPrint|dump)\(/, in: silent).isEmpty)
    }

    @Test func leavesNothingForLater() throws {
        let paths = Self.sources + Self.others
        let places = try paths.filter { try PackageFiles.text($0).contains(/\b(TODO|FIXME|XXX)\b/) }
        #expect(places.isEmpty)
    }

    @Test func testsSeeWhatOtherModulesSee() throws {
        #expect(try Self.places(of: /@testable/, in: Self.others).isEmpty)
    }

    @Test func keepsFilesShort() throws {
        for path in Self.sources + Self.tests {
            let count = try PackageFiles.text(path).split(separator: "\n", omittingEmptySubsequences: false).count
            #expect(count <= 601, "\(path) has \(count) lines")
        }
    }

    /// Each C library is imported by one module.
    @Test func importsCLibrariesInOnePlace() throws {
        for (library, module) in [("COpenSSL", "Cryptography"), ("CMaxMindDB", "AddressIntelligence")] {
            let users = try Self.sources.filter { path in
                try Self.code(path).contains { $0.line.hasSuffix("import \(library)") }
            }
            #expect(users.allSatisfy { $0.hasPrefix("Sources/\(module)/") } && !users.isEmpty, "\(library): \(users)")
        }
    }
}
