import Foundation
import TestSupport
import Testing

/// `deploy/sbom.py` on the tested binary.
@Suite struct BillOfMaterialsTests {
    /// The libraries are looked up in Debian's packages.
    private static let hasDpkg = (try? PackageFiles.run(["dpkg", "--version"])) != nil

    private struct Bill: Decodable {
        struct Component: Decodable {
            var name: String
            var version: String
            var purl: String?
        }
        struct Metadata: Decodable {
            var component: Component
            var timestamp: String?
        }
        struct Dependency: Decodable {
            var ref: String
            var dependsOn: [String]
        }
        var specVersion: String
        var metadata: Metadata
        var components: [Component]
        var dependencies: [Dependency]

        var purls: [String] { self.components.compactMap(\.purl) }

        func needs(_ ref: String) -> [String]? { self.dependencies.first { $0.ref == ref }?.dependsOn }
    }

    /// As `swift package show-dependencies --format json` prints it: a package stands below each that needs it.
    private static let dependencies = """
        {"identity": "src", "name": "sallyport", "url": "/src", "version": "unspecified", "dependencies": [
          {"name": "swift-nio", "url": "https://github.com/apple/swift-nio", "version": "2.101.2", "dependencies": [
            {"name": "swift-atomics", "url": "https://github.com/apple/swift-atomics.git", "version": "1.3.0",
             "dependencies": []}]},
          {"name": "swift-atomics", "url": "https://github.com/apple/swift-atomics", "version": "1.3.0",
           "dependencies": []}]}
        """

    /// What the script prints, in a folder that is removed with the test.
    private static func write(_ options: String = "", environment: String = "") throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-bill-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = [
            "dependencies.json": Self.dependencies, "copied/libcrypto.so.3": "", "copied/libyaml-0.so.2": "",
            "status/libc6": "Package: libc6\nVersion: 2.36-9+deb12u1\nArchitecture: amd64\nDescription: of the base\n",
            "status/libc6.md5sums": "00000000000000000000000000000000  usr/share/doc/libc6/copyright\n",
        ]
        for (name, text) in files {
            let file = folder.appending(path: name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try text.write(to: file, atomically: true, encoding: .utf8)
        }
        let script = """
            FOLDER='\(folder.path)'; \(environment) deploy/sbom.py \(options) .build/release/sallyport \
            <"$FOLDER/dependencies.json"
            """
        let result = try #require(try PackageFiles.run(["bash", "-c", script]))
        #expect(result.status == 0, "\(result.output)")
        return result.output
    }

    private static func bill(_ text: String) throws -> Bill {
        try JSONDecoder().decode(Bill.self, from: Data(text.utf8))
    }

    @Test(.enabled(if: hasDpkg, "dpkg is not installed")) func namesPackagesSwiftAndTheLibrariesOfTheBinary() throws {
        let text = try Self.write()
        let bill = try Self.bill(text)
        let version = try #require(try PackageFiles.run([".build/release/sallyport", "--version"])).output
        #expect(bill.metadata.component.name == "sallyport" && bill.metadata.component.version + "\n" == version)
        let atomics = "pkg:swift/github.com/apple/swift-atomics@1.3.0"
        let nio = "pkg:swift/github.com/apple/swift-nio@2.101.2"
        #expect(bill.purls.filter { $0 == atomics }.count == 1 && bill.needs(nio) == [atomics])
        for start in ["pkg:github/swiftlang/swift@swift-6.", "pkg:deb/debian/libssl3@3.", "pkg:deb/debian/libc6@"] {
            let purl = try #require(bill.purls.first { $0.hasPrefix(start) }, "\(start): \(text)")
            #expect(bill.needs("sallyport")?.contains(purl) == true)
        }
        #expect(bill.purls == bill.purls.sorted() && bill.dependencies.count == bill.components.count + 1)
        // The same build gives the same document.
        #expect(bill.metadata.timestamp == nil)
        #expect(try Self.write() == text)
    }

    @Test(.enabled(if: hasDpkg, "dpkg is not installed")) func anImageHasItsBaseAndWhatIsCopiedToIt() throws {
        let base = "registry.example.com/base@sha256:\(String(repeating: "a", count: 64))"
        let options = "--image \(base) \"$FOLDER/status\" \"$FOLDER/copied\""
        let bill = try Self.bill(try Self.write(options, environment: "SOURCE_DATE_EPOCH=1700000000"))
        #expect(bill.metadata.timestamp == "2023-11-14T22:13:20Z")
        let debian = bill.components.filter { $0.purl?.hasPrefix("pkg:deb/") == true }
        #expect(debian.map(\.name) == ["libc6", "libssl3", "libyaml-0-2"])
        #expect(debian.first?.version == "2.36-9+deb12u1", "the base's, not this machine's")
        let image = try #require(bill.components.first { $0.name == "registry.example.com/base" })
        #expect(image.version.hasPrefix("sha256:aaaa") && bill.needs(base) == debian.prefix(1).compactMap(\.purl))
    }

    @Test(
        .enabled(if: hasDpkg, "dpkg is not installed"),
        .enabled(if: PackageFiles.hasClientsPython, "no validator is installed")
    )
    func isValidByTheSchema() throws {
        let script = """
            import sys
            from cyclonedx.schema import SchemaVersion
            from cyclonedx.validation.json import JsonStrictValidator
            sys.exit(JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read()))
            """
        let file = FileManager.default.temporaryDirectory.appending(path: "sallyport-bill-\(UUID()).json")
        defer { try? FileManager.default.removeItem(at: file) }
        for options in ["", "--image base:tag \"$FOLDER/status\" \"$FOLDER/copied\""] {
            try Self.write(options).write(to: file, atomically: true, encoding: .utf8)
            let judged = try #require(try PackageFiles.run([PackageFiles.clientsPython, "-c", script, file.path]))
            #expect(judged.status == 0, "\(judged.output)")
        }
    }

    /// The build of the image runs the script, from files that its context has.
    @Test func dockerfileHasATargetForIt() throws {
        let dockerfile = try PackageFiles.text("deploy/Dockerfile")
        #expect(dockerfile.contains("FROM scratch AS sbom\nCOPY --from=inventory /sallyport.cdx.json /\n"))
        #expect(dockerfile.contains("COPY deploy/sbom.py deploy/\n"))
        #expect((try PackageFiles.text("deploy/Dockerfile.dockerignore")).contains("\n!deploy/sbom.py\n"))
        let command = "docker build -f deploy/Dockerfile --target sbom --output . ."
        #expect(dockerfile.contains("# The image's bill of materials: \(command)\n"))
        #expect(try Documents.guides().contains { $0.text.contains("`\(command)`") })
    }
}
