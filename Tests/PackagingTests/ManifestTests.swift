import Foundation
import Testing

/// Each target of the manifest depends on the modules that its sources import, and on no other; each package has one version.
@Suite struct ManifestTests {
    private struct Target {
        var name: String
        var folder: String
        var dependencies: Set<String>
    }

    /// The manifest without its comments.
    private static func manifest() throws -> String {
        try PackageFiles.text("Package.swift").split(separator: "\n", omittingEmptySubsequences: false)
            .filter { !$0.trimmingPrefix(while: \.isWhitespace).hasPrefix("//") }.joined(separator: "\n")
    }

    /// The text between the bracket at the beginning of `text` and the one that closes it.
    private static func bracketed(_ text: Substring) -> Substring {
        var depth = 0
        for index in text.indices {
            switch text[index] {
            case "(", "[": depth += 1
            case ")", "]":
                depth -= 1
                if depth == 0 { return text[text.index(after: text.startIndex)..<index] }
            default: break
            }
        }
        return ""
    }

    /// The names in an element of `dependencies`: of modules, and of products behind a variable or not.
    private static func names(in list: Substring, _ products: [Substring: String]) -> Set<String> {
        let element = /name: "(\w+)"|package: "[^"]*"|"(\w+)"|(\w+)/
        return list.matches(of: element).reduce(into: []) { names, match in
            if let named = match.1 ?? match.2 {
                names.insert(String(named))
            } else if let variable = match.3, let name = products[variable] {
                names.insert(name)
            }
        }
    }

    /// The targets in the manifest, without those of the fuzzers, which a loop makes.
    private static func targets() throws -> [Target] {
        let text = try Self.manifest()
        // `let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")`
        let product = /let (\w+): Target\.Dependency = \.product\(name: "(\w+)"/
        let products = Dictionary(uniqueKeysWithValues: text.matches(of: product).map { ($0.1, String($0.2)) })
        var targets: [Target] = []
        for (list, folder) in [("modules", "Sources"), ("rigs", "Tests/TestSupport"), ("tests", "Tests")] {
            let start = try #require(text.firstRange(of: "let \(list): KeyValuePairs<String, [Target.Dependency]> = "))
            let entries = Self.bracketed(text[start.upperBound...])
            targets += entries.matches(of: /"(\w+)": (?=\[)/).map { match in
                let dependencies = Self.names(in: Self.bracketed(entries[match.range.upperBound...]), products)
                return Target(name: String(match.1), folder: "\(folder)/\(match.1)", dependencies: dependencies)
            }
        }
        let program = try #require(text.firstMatch(of: /name: "(sallyport)",\s+dependencies: (?=\[)/))
        let uses = Self.names(in: Self.bracketed(text[program.range.upperBound...]), products)
        return targets + [Target(name: String(program.1), folder: "Sources/sallyport", dependencies: uses)]
    }

    private static func imports(below folder: String) throws -> Set<String> {
        let line = /^\s*(?:@\w+(?:\([^)]*\))? +)*(?:\w+ +)?import (?:struct |class |enum |func |protocol )?(\w+)/
        return try PackageFiles.swift(below: folder).reduce(into: []) { modules, path in
            for match in try PackageFiles.text(path).matches(of: line.anchorsMatchLineEndings()) {
                modules.insert(String(match.1))
            }
        }
    }

    @Test func dependsOnWhatIsImportedAndOnNothingElse() throws {
        let targets = try Self.targets()
        #expect(
            targets.count > 30 && targets.contains { $0.name == "sallyport" && $0.dependencies.contains("NIOCore") }
        )
        // Modules of the toolchain are not dependencies.
        let known = targets.reduce(into: Set<String>()) { $0.formUnion($1.dependencies) }
        for target in targets {
            let imports = try Self.imports(below: target.folder)
            #expect(!imports.isEmpty || target.dependencies.isEmpty, "\(target.folder) holds no sources")
            let unused = target.dependencies.subtracting(imports).sorted()
            #expect(unused.isEmpty, "\(target.name) depends on what it does not import: \(unused)")
            let missing = imports.intersection(known).subtracting(target.dependencies).sorted()
            #expect(missing.isEmpty, "\(target.name) imports what it does not depend on: \(missing)")
        }
    }

    /// What SwiftPM has fetched.
    private struct Workspace: Decodable {
        struct Object: Decodable { var dependencies: [Dependency] }
        struct Dependency: Decodable {
            struct Reference: Decodable { var identity: String }
            struct State: Decodable { var checkoutState: Checkout }
            struct Checkout: Decodable { var version: String }
            var packageRef: Reference
            var state: State
        }
        var object: Object
    }

    /// Otherwise two images of the same sources could hold different code.
    @Test func namesTheVersionOfEveryPackageThatIsFetched() throws {
        let text = try Self.manifest()
        let named = text.matches(of: /\.package\(url: "[^"]*\/([^"\/]+)", exact: "([0-9.]+)"/)
            .map { ($0.1.lowercased(), String($0.2)) }
        #expect(named.count == text.matches(of: /\.package\(/).count, "a package has no exact version")
        let state = Data(try PackageFiles.text(".build/workspace-state.json").utf8)
        let fetched = try JSONDecoder().decode(Workspace.self, from: state).object.dependencies
            .map { ($0.packageRef.identity, $0.state.checkoutState.version) }
        #expect(Dictionary(uniqueKeysWithValues: named) == Dictionary(uniqueKeysWithValues: fetched))
    }

    @Test("A plain build has no unsafe flags, for a compiler that refuses one", arguments: [false, true])
    func plainBuild(_ isPlain: Bool) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-manifest-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let variable = "SALLYPORT_PLAIN=\(isPlain ? 1 : 0)"
        // The scratch folder of the running `swift test` is locked.
        let command = ["swift", "package", "--scratch-path", folder.path, "dump-package"]
        let manifest = try #require(try PackageFiles.run(["env", variable] + command))
        #expect(manifest.status == 0 && manifest.output.contains("swiftLanguageMode"), "\(manifest.output)")
        #expect(manifest.output.contains("unsafeFlags") != isPlain)
        let script = #"source deploy/build.sh; echo "${SALLYPORT_FLAGS[*]}""#
        let flags = try #require(try PackageFiles.run(["env", variable, "bash", "-c", script]))
        #expect((flags.output == "-c release\n") == isPlain)
    }
}
