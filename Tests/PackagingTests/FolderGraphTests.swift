import Foundation
import Testing

/// The folders of the request path have one order, which the README states: each uses only folders before it. Modules
/// have no circles.
@Suite struct FolderGraphTests {
    /// The folders of `RequestPath` as `Sources/README.md` lists them: each uses only those before it.
    private static func order() throws -> [String] {
        let text = try PackageFiles.text("Sources/README.md")
        let section = try #require(text.split(separator: "\n## ").first { $0.hasPrefix("The request path\n") })
        return section.matches(of: /(?m)^- \*\*(\w+)\*\*\s/).map { String($0.output.1) }
    }

    private static func files(of module: String) throws -> [String: String] {
        let prefix = "Sources/\(module)/"
        let paths = PackageFiles.swift(below: "Sources/\(module)")
        return Dictionary(
            uniqueKeysWithValues: try paths.map { (String($0.dropFirst(prefix.count)), try PackageFiles.text($0)) }
        )
    }

    @Test func everyFolderOfTheRequestPathHasItsPlace() throws {
        let graph = FolderGraph(try Self.files(of: "RequestPath"))
        let order = try Self.order()
        #expect(order.sorted() == graph.folders.sorted())
        #expect(graph.uses.count > 100)
    }

    @Test func noFolderUsesOneBehindIt() throws {
        for use in FolderGraph(try Self.files(of: "RequestPath")).upward(try Self.order()) { Issue.record("\(use)") }
    }

    @Test func noFolderStandsInACircle() throws {
        for use in FolderGraph(try Self.files(of: "RequestPath")).circles { Issue.record("\(use)") }
    }

    /// The folders of other modules that use each other. This list may only get shorter: a pair that no longer exists fails,
    /// too. Files outside of folders form the folder `.`.
    private static let knownPairs: [String: Set<Set<String>>] = [
        "RedisStore": [["Client", "Topology"]],
        "Sessions": [[".", "Store"]],
        "Settings": [["Keys", "Values"]],
        "Transport": [["Loop", "Socket"]],
    ]

    @Test func foldersOfNoModuleFormOtherCirclesThanTheKnownOnes() throws {
        let modules = Set(
            PackageFiles.swift(below: "Sources").compactMap {
                $0.split(separator: "/").dropFirst().first.map(String.init)
            }
        )
        #expect(modules.isSuperset(of: Self.knownPairs.keys))
        for module in modules.sorted() {
            let files = try Self.files(of: module).map { ($0.key.contains("/") ? $0.key : "./\($0.key)", $0.value) }
            let graph = FolderGraph(Dictionary(uniqueKeysWithValues: files))
            let known = Self.knownPairs[module] ?? []
            for use in graph.circles(joining: known) { Issue.record("\(module): \(use)") }
            for pair in known.subtracting(graph.pairs) {
                Issue.record("\(module): \(pair.sorted()) no longer use each other: remove the pair from the list")
            }
        }
    }

    @Test func noModuleStandsInACircle() throws {
        let modules = Set(
            PackageFiles.swift(below: "Sources").compactMap {
                $0.split(separator: "/").dropFirst().first.map(String.init)
            }
        )
        #expect(modules.count > 8)
        // For each module, the modules that it imports and the file that imports them.
        var importers: [String: [String: String]] = [:]
        for module in modules {
            for (path, text) in try Self.files(of: module) {
                for imported in SwiftText(text).imports where modules.contains(imported) {
                    importers[module, default: [:]][imported] = path
                }
            }
        }
        var seen: Set<String> = []
        func visit(_ module: String, _ way: [String]) {
            if let start = way.firstIndex(of: module) {
                let circle = (way[start...] + [module])
                let files = zip(circle, circle.dropFirst()).map { "\($0)/\(importers[$0]?[$1] ?? "") imports \($1)" }
                Issue.record("\(files.joined(separator: ", "))")
                return
            }
            guard seen.insert(module).inserted else { return }
            for next in (importers[module] ?? [:]).keys.sorted() { visit(next, way + [module]) }
        }
        for module in modules.sorted() { visit(module, []) }
    }

    /// An exchange knows its client and its app as protocols only, so that either can be an HTTP/2 stream.
    @Test func anExchangeKnowsNoChannel() throws {
        let channels: Set = [
            "Channel", "ChannelHandlerContext", "ChannelHandler", "ChannelOption", "NIOAny", "ByteStream",
            "ClientByteStream", "StreamSocket", "PipelineChannel", "HTTP1Connection", "UpstreamConnection",
            "ServerGroup", "ServerPool",
        ]
        let files = try Self.files(of: "RequestPath").filter { FolderGraph.folder(of: $0.key) == "Exchange" }
        #expect(files.count > 5)
        for (path, text) in files {
            #expect(SwiftText(text).words.isDisjoint(with: channels), "\(path)")
        }
    }

    // MARK: The reader itself

    @Test func findsACircleAndNamesBothFiles() {
        let graph = FolderGraph([
            "A/One.swift": "package struct One {\n    var two: Two?\n}\n",
            "B/Two.swift": "final class Two {\n    let make = { One() }\n}\n",
            "C/Three.swift": "func three(_ one: One) {}\n",
        ])
        #expect(
            graph.upward(["A", "B", "C"]).map(\.description) == ["A/One.swift names Two, which B/Two.swift declares"]
        )
        #expect(Set(graph.circles.map(\.user)) == ["A/One.swift", "B/Two.swift"])
        #expect(graph.upward(["B", "A"]).map(\.name) == ["One", "One"])
    }

    @Test func takesAKnownPairForOneFolder() {
        var files = [
            "A/One.swift": "struct One { var two: Two? }\n", "B/Two.swift": "struct Two { let make = One() }\n",
            "C/Three.swift": "struct Three { let one = One() }\n",
        ]
        let pair: Set = ["A", "B"]
        #expect(FolderGraph(files).pairs == [pair])
        #expect(FolderGraph(files).circles(joining: [pair]).isEmpty)
        // The way back leads through the other folder of the pair.
        files["B/Other.swift"] = "let other = Three()\n"
        #expect(FolderGraph(files).pairs == [pair])
        #expect(Set(FolderGraph(files).circles(joining: [pair]).map(\.user)) == ["B/Other.swift", "C/Three.swift"])
    }

    @Test func readsCodeAndNothingElse() {
        let graph = FolderGraph([
            "A/One.swift": """
            /// Not `Two`.
            struct One {
                enum Step { case two }
                let text = "Two", step = Step.two  // Two
                let page = ""\"
                    Two
                    ""\"
            }
            private struct Hidden {}
            """,
            "B/Two.swift": "struct Two {}\nstruct Step {}\nstruct Hidden {}\nlet text = \"\\(One())\"\n",
        ])
        #expect(graph.uses.map(\.description) == ["B/Two.swift names One, which A/One.swift declares"])
        #expect(graph.circles.isEmpty)
    }
}
