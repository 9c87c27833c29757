import Foundation

/// The uses between the folders of a module, read from its sources. A folder uses another one if it names a type or a
/// function that is declared there.
struct FolderGraph {
    /// One name that a file uses from another folder.
    struct Use: Hashable, CustomStringConvertible {
        var name: String
        /// Paths below the module.
        var user: String
        var declarer: String

        var from: String { FolderGraph.folder(of: self.user) }
        var to: String { FolderGraph.folder(of: self.declarer) }
        var description: String { "\(self.user) names \(self.name), which \(self.declarer) declares" }
    }

    let folders: Set<String>
    let uses: [Use]

    /// - Parameter files: The text of each file by its path below the module (`Folder/File.swift`).
    init(_ files: [String: String]) {
        let sources = files.mapValues { SwiftText($0) }
        var declarers: [String: Set<String>] = [:]
        for (path, source) in sources {
            for name in source.sharedNames { declarers[name, default: []].insert(path) }
        }
        self.folders = Set(files.keys.map(Self.folder))
        self.uses = sources.flatMap { path, source in
            // A name that the file itself declares, a nested type for example, hides one of another folder.
            source.words.subtracting(source.ownNames).compactMap { name -> Use? in
                guard let places = declarers[name],
                    !places.contains(where: { Self.folder(of: $0) == Self.folder(of: path) }),
                    let declarer = places.sorted().first
                else { return nil }
                return Use(name: name, user: path, declarer: declarer)
            }
        }.sorted { ($0.user, $0.name) < ($1.user, $1.name) }
    }

    static func folder(of path: String) -> String {
        String(path.prefix(while: { $0 != "/" }))
    }

    /// The uses of folders that do not come before the user's folder in `order`.
    func upward(_ order: [String]) -> [Use] {
        let places = Dictionary(uniqueKeysWithValues: order.enumerated().map { ($1, $0) })
        return self.uses.filter { use in
            guard let from = places[use.from], let to = places[use.to] else { return true }
            return to > from
        }
    }

    /// For each folder that uses itself indirectly, the uses that form the circle.
    var circles: [Use] { self.circles(joining: []) }

    /// The uses that would form circles if each of these pairs were one folder.
    func circles(joining pairs: Set<Set<String>>) -> [Use] {
        func joined(with folder: String) -> Set<String> {
            var group: Set = [folder]
            while let pair = pairs.first(where: { !$0.isDisjoint(with: group) && !$0.isSubset(of: group) }) {
                group.formUnion(pair)
            }
            return group
        }
        let groups = Dictionary(uniqueKeysWithValues: self.folders.map { ($0, joined(with: $0)) })
        let arrows = self.uses.filter { groups[$0.from] != groups[$0.to] }
        let next = Dictionary(grouping: arrows) { groups[$0.from] }.mapValues { Set($0.map { groups[$0.to] }) }
        func reachable(from group: Set<String>?) -> Set<Set<String>?> {
            var found: Set<Set<String>?> = []
            var rest = Array(next[group] ?? [])
            while let group = rest.popLast() {
                if found.insert(group).inserted { rest += next[group] ?? [] }
            }
            return found
        }
        let reach = Dictionary(uniqueKeysWithValues: Set(groups.values).map { ($0, reachable(from: $0)) })
        return arrows.filter { use in groups[use.to].flatMap { reach[$0] }?.contains(groups[use.from]) == true }
    }

    /// The pairs of folders that use each other.
    var pairs: Set<Set<String>> {
        let arrows = Set(self.uses.map { [$0.from, $0.to] })
        return Set(arrows.filter { arrows.contains($0.reversed()) }.map { Set($0) })
    }
}

/// The names in a Swift file.
struct SwiftText {
    /// Types, type aliases and functions that are declared at the top level and visible to other files.
    private(set) var sharedNames: Set<String> = []
    /// The names of all declarations, at any depth.
    private(set) var ownNames: Set<String> = []
    /// All names outside of comments and plain text.
    let words: Set<String>
    /// The imported modules.
    let imports: Set<String>

    init(_ text: String) {
        let code = Self.code(text)
        self.words = Set(code.matches(of: /[A-Za-z_][A-Za-z0-9_]*/).map { String($0.0) })
        self.imports = Set(
            code.matches(of: /(?m)^(?:package |@preconcurrency )*import (\w+)/).map { String($0.output.1) }
        )
        let declaration =
            /(?m)^( *)((?:package|private|fileprivate|final|indirect|static|mutating|convenience|nonisolated\(unsafe\)|@\w+(?:\([^)]*\))?)\s+)*?(?:class|struct|enum|protocol|actor|typealias|func)\s+([A-Za-z_]\w*)/
        for match in code.matches(of: declaration) {
            let name = String(match.output.3)
            let line = code[match.range]
            self.ownNames.insert(name)
            if match.output.1.isEmpty, !line.contains("private") { self.sharedNames.insert(name) }
        }
    }

    /// The text without comments and strings. Code that is interpolated into strings stays.
    private static func code(_ text: String) -> String {
        func interpolated(in text: Substring) -> String {
            text.matches(of: /\\\(([^"\n]*?)\)/).map { " \($0.output.1) " }.joined()
        }
        return text.replacing(/\/\/[^\n]*/, with: "")
            .replacing(/"""(?s:.)*?"""/) { interpolated(in: $0.0) }
            .replacing(/"(?:\\\([^"\n]*\)|\\.|[^"\\\n])*"/) { interpolated(in: $0.0) }
    }
}
