import Foundation

/// A document of the repository: `README.md`, a guide of the catalog, or a text beside sources and scripts.
package struct Document: Sendable, CustomStringConvertible {
    /// The file's name without its ending: the article's, by which DocC links.
    package let name: String
    /// The path below the package's root.
    package let path: String
    package let text: String

    package var description: String { self.path }

    /// Code between two fences.
    package struct Block: Sendable {
        package let language: String
        package let text: String

        /// The first line of a block of settings that is not a whole file.
        package static let part = "# part of sallyport.yaml"

        /// True if the block says that it is not a whole file of settings.
        package var isPart: Bool { self.text.hasPrefix(Self.part) }

        /// True if the code begins so, after the first line with the name of its file.
        package func begins(with code: String) -> Bool {
            let line = self.text.prefix { $0 != "\n" }
            return self.text.hasPrefix(code)
                || line.hasPrefix("#") && self.text.dropFirst(line.count + 1).hasPrefix(code)
        }
    }

    /// The file at a path below the package's root.
    package init(_ path: String) throws {
        let file = PackageFolder.root.appending(path: path)
        self.init(path, text: try String(contentsOf: file, encoding: .utf8))
    }

    private init(_ path: String, text: String) {
        self.name = (path.split(separator: "/").last.map(String.init) ?? path).replacing(".md", with: "")
        self.path = path
        self.text = text
    }

    /// The document below a heading, up to the next one of the same level or above; nil without such a heading.
    package func section(_ heading: String) -> Document? {
        let level = heading.prefix { $0 == "#" }.count
        var lines: [Substring]?
        var isCode = false
        for line in self.text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") { isCode.toggle() }
            let depth = isCode ? 0 : line.prefix { $0 == "#" }.count
            if lines != nil, 1...level ~= depth { break }
            lines?.append(line)
            if line == heading, !isCode { lines = [] }
        }
        return lines.map { Document(self.path, text: $0.joined(separator: "\n")) }
    }

    /// All code between fences, in its order.
    package var blocks: [Block] {
        var blocks: [Block] = []
        var open: (language: String, lines: [Substring])?
        for line in self.text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                if let (language, lines) = open {
                    blocks.append(Block(language: language, text: lines.map { "\($0)\n" }.joined()))
                    open = nil
                } else {
                    open = (String(line.dropFirst(3)), [])
                }
            } else {
                open?.lines.append(line)
            }
        }
        return blocks
    }

    /// The texts of the blocks in one language.
    package func blocks(_ language: String) -> [String] {
        self.blocks.filter { $0.language == language }.map(\.text)
    }

    /// The text without its code, as paragraphs, lists, tables and headings between empty lines.
    package var passages: [String] {
        var passages: [[Substring]] = [[]]
        var isCode = false
        for line in self.text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") { isCode.toggle() }
            if line.isEmpty || line.hasPrefix("```") {
                passages.append([])
            } else if !isCode {
                passages[passages.count - 1].append(line)
            }
        }
        return passages.filter { !$0.isEmpty }.map { $0.joined(separator: "\n") }
    }

    /// The headings, as they are written.
    package var headings: [String] {
        self.passages.flatMap { $0.split(separator: "\n") }.filter { $0.hasPrefix("#") }.map(String.init)
    }
}

/// The documents of the repository. Tests that need a text of them look for it here, so that it may move.
package enum Documents {
    /// The DocC catalog of the guides.
    package static let catalog = "Sources/sallyport/Sallyport.docc"

    private static func files(below folder: String) -> [String] {
        let base = PackageFolder.root.appending(path: folder).path
        return (FileManager.default.enumerator(atPath: base)?.compactMap { $0 as? String } ?? [])
            .filter { $0.hasSuffix(".md") && !$0.contains("node_modules") }.map { "\(folder)/\($0)" }.sorted()
    }

    /// The articles of the catalog and its root.
    package static func guides() throws -> [Document] {
        try self.files(below: self.catalog).map { try Document($0) }
    }

    /// What users read: README.md and the guides.
    package static func all() throws -> [Document] {
        try [Document("README.md")] + self.guides()
    }

    /// What contributors read beside them.
    package static func others() throws -> [Document] {
        try ([".github", "deploy"].flatMap(self.files) + ["Sources/README.md"]).map { try Document($0) }
    }

    /// The guide of this name, such as `Redis`.
    package static func guide(_ name: String) throws -> Document {
        guard let path = self.files(below: self.catalog).first(where: { $0.hasSuffix("/\(name).md") }) else {
            throw Missing(what: "a guide \(name)")
        }
        return try Document(path)
    }

    /// The text of the guide of this name.
    package static func text(_ name: String) throws -> String {
        try self.guide(name).text
    }

    /// All blocks of a language in the guides that begin so, after the line that names their file.
    package static func blocks(_ language: String, beginning: String = "") throws -> [String] {
        try self.guides().flatMap(\.blocks).filter { $0.language == language && $0.begins(with: beginning) }.map(\.text)
    }

    /// The first block of a language in the guides that begins so and contains this.
    package static func block(_ language: String, beginning: String, with part: String = "") throws -> String {
        let blocks = try self.blocks(language, beginning: beginning)
        guard let block = blocks.first(where: { part.isEmpty || $0.contains(part) }) else {
            throw Missing(what: "a block of \(language) that begins with \(beginning) and has \(part)")
        }
        return block
    }

    /// No document has it.
    package struct Missing: Error, CustomStringConvertible {
        package let what: String
        package var description: String { "the guides in \(Documents.catalog) lack \(self.what)" }
    }
}
