import Foundation
import Testing

/// The scripts that documents name are as they say.
@Suite struct ScriptTests {
    @Test(
        arguments: [
            "deploy/build.sh", "deploy/demo.sh", "deploy/docs.sh", "deploy/test.sh", "deploy/release.sh",
            "deploy/compose/secrets.sh", "Tests/Models/check.sh", ".ci/run",
        ]
    )
    func scriptIsStrictAndExecutable(_ path: String) throws {
        let text = try PackageFiles.text(path)
        #expect(text.hasPrefix("#!/usr/bin/env bash\n") && text.contains("\nset -euo pipefail\n"))
        #expect(FileManager.default.isExecutableFile(atPath: PackageFiles.root.appending(path: path).path))
        // Where shellcheck is installed, it finds nothing.
        if let shellcheck = try PackageFiles.run(["shellcheck", "-x", path]) {
            #expect(shellcheck.status == 0, "\(shellcheck.output)")
        }
    }

    /// The tables of the benchmark are whole, those of the model are what it computes today, and each act of the mixed load
    /// is there.
    @Test(arguments: ["deploy/bench/run.py", "deploy/bench/scale.py", "deploy/bench/mixed.py"])
    func benchmarkIsCurrent(_ path: String) throws {
        let check = try #require(try PackageFiles.run([path, "--check"]))
        #expect(check.status == 0, "\(check.output)")
    }

    /// The first impression does not wait for a build of the tests, and says what it waits for.
    @Test func demoBuildsTheGatewayAloneAndSaysSo() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-first-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let script = """
            set -e; FOLDER='\(folder.path)'; mkdir -p "$FOLDER/deploy" "$FOLDER/bin"
            cp deploy/build.sh deploy/demo.sh "$FOLDER/deploy"
            cat >"$FOLDER/bin/swift" <<'END'
            #!/bin/sh
            echo swift "$@"
            mkdir -p "$3/.build/release"
            cp /bin/echo "$3/.build/release/sallyport"
            END
            chmod 755 "$FOLDER/bin/swift"
            for _ in first second; do PATH="$FOLDER/bin:$PATH" "$FOLDER/deploy/demo.sh" --port 0; done
            """
        let result = try #require(try PackageFiles.run(["bash", "-c", script]))
        #expect(result.status == 0, "\(result.output)")
        let lines = result.output.split(separator: "\n")
        let first = lines.map { $0.prefix { $0 != " " } }
        #expect(first == ["building", "swift", "demo", "swift", "demo"], "\(result.output)")
        #expect(lines.first?.contains("takes five to ten minutes the first time") == true)
        #expect(result.output.contains(" --product sallyport ") && !result.output.contains("--build-tests"))
        #expect(lines.last == "demo --port 0")
    }

    /// CI runs the tests of the package: `.ci/run` has no list of its own.
    @Test func continuousIntegrationRunsTheSameTests() throws {
        let script = try PackageFiles.text(".ci/run")
        #expect(script.contains("swift format lint --strict -r Sources Tests Package.swift"))
        #expect(script.hasSuffix("deploy/test.sh\n"))
    }
}
