import Foundation
import Testing

/// The scripts that documents name are as they say.
@Suite struct ScriptTests {
    @Test(
        arguments: [
            "deploy/build.sh", "deploy/progress.sh", "deploy/demo.sh", "deploy/docs.sh", "deploy/test.sh",
            "deploy/release.sh",
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

    /// The tables of the benchmark are whole, those of the model are what it computes today, each act of the mixed load is
    /// there, and what judges the apps that follow a provider notices what is wrong.
    @Test(
        arguments: [
            "deploy/bench/run.py", "deploy/bench/scale.py", "deploy/bench/mixed.py", "deploy/bench/follow.py",
        ]
    )
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
            cp deploy/build.sh deploy/progress.sh deploy/demo.sh "$FOLDER/deploy"
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
        #expect(lines.first?.contains("takes about 15 minutes on two cores the first time") == true)
        #expect(result.output.contains(" --product sallyport ") && !result.output.contains("--build-tests"))
        #expect(lines.last == "demo --port 0")
    }

    /// What SwiftPM prints of a build that fails, abridged.
    private static let failedBuild = """
        Fetching https://github.com/apple/swift-nio
        Building for production...
        [0/461] Write swift-version-6A52383ED409C6A7.txt
        [4/462] Compiling voprf.cc
        [477/480] Compiling NIOCore AddressedEnvelope.swift
        error: emit-module command failed with exit code 1 (use -v to see invocation)
        [478/481] Emitting module Rules
        Sources/Rules/Rule.swift:3:5: error: cannot find 'x' in scope
        1 | import Vocabulary
        3 |     x
          |     `- error: cannot find 'x' in scope
        [478/481] Compiling Transport ChannelConnector.swift
        error: fatalError

        """

    @Test("A build prints its errors in whole and nothing for each file, and its status remains")
    func progress() throws {
        let diagnostics = Self.failedBuild.split(separator: "\n").filter {
            $0.prefix { $0 != " " }.contains(/^(e|S|\d|$)/)
        }
        let script = """
            source deploy/build.sh
            swift() { printf '%s' "$BUILD"; return 3; }
            sallyport_swift_build --product sallyport || echo "status $?"
            """
        let build = try #require(
            try PackageFiles.run(["env", "BUILD=\(Self.failedBuild)", "bash", "-c", script])
        )
        #expect(build.output == diagnostics.joined(separator: "\n") + "\nstatus 3\n")
    }

    @Test("On a terminal one line of a build changes, and diagnostics stand in lines of their own")
    func progressOnATerminal() throws {
        let script = "printf '%s' \"$BUILD\" | deploy/progress.sh gateway"
        let terminal = try #require(
            try PackageFiles.run(["env", "BUILD=\(Self.failedBuild)", "script", "-qec", script, "/dev/null"])
        )
        let lines = terminal.output.replacing("\r\n", with: "\n").split(separator: "\n")
        #expect(lines.count == 6, "\(terminal.output)")
        #expect(
            lines.first?.contains(
                "\r\u{1B}[Kstep 477 of 480: Compiling NIOCore AddressedEnvelope.swift\r\u{1B}[Kerror: "
            ) == true
        )
        #expect(lines.dropFirst(3).first == "3 |     x")
    }

    /// The events of a run of swift test, as `deploy/test-report.py` reads them.
    private static func events(ended: Bool = true) -> String {
        func event(_ kind: String, _ test: String?, at instant: Double, _ text: String = "", _ more: String = "")
            -> String
        {
            let id = test.map { #", "testID": "\#($0)""# } ?? ""
            let messages = text.isEmpty ? "" : #"{"symbol": "default", "text": "\#(text)"}"#
            return #"""
                {"kind": "event", "version": "6.3.0", "payload": {"kind": "\#(kind)"\#(id)\#(more), \#
                "instant": {"absolute": \#(instant), "since1970": \#(instant)}, "messages": [\#(messages)]}}
                """#
        }
        let slow = "SomeTests.Slow/Inner/slow()/A.swift:1:2"
        let fast = "SomeTests.Fast/fast()/B.swift:1:2"
        let issue = #", "issue": {"isFailure": true, "isKnown": false, "severity": "error"}"#
        let lines = [
            #"{"kind": "test", "version": "6.3.0", "payload": {"id": "\#(slow)", "kind": "function"}}"#,
            event("testStarted", "SomeTests.Slow", at: 100, "Suite Slow started."),
            event("testStarted", slow, at: 100), event("testStarted", fast, at: 100),
            event("testSkipped", "SomeTests.Off", at: 100, #"Suite Off skipped: \"only with SOAK\""#),
            event("testSkipped", "SomeTests.Off/a()/C.swift:1:2", at: 100, #"Test a() skipped: \"only with SOAK\""#),
            event("testSkipped", "SomeTests.Off/b()/C.swift:2:2", at: 100, #"Test b() skipped: \"only with SOAK\""#),
            event("testStarted", "SomeTests.Off/c()/C.swift:3:2", at: 100),
            event("testCaseCancelled", "SomeTests.Off/c()/C.swift:3:2", at: 100),
            event(
                "testEnded",
                "SomeTests.Off/c()/C.swift:3:2",
                at: 100,
                #"Test \"C: c\" was cancelled after 0.001 seconds: \"nginx is not installed\""#
            ),
            event("testStarted", "SomeTests.Off/d(_:)/C.swift:4:2", at: 100),
            event("testCaseCancelled", "SomeTests.Off/d(_:)/C.swift:4:2", at: 100),
            event(
                "testEnded",
                "SomeTests.Off/d(_:)/C.swift:4:2",
                at: 100,
                #"Test \"D\" with 2 test cases passed after 0.001 seconds."#
            ),
            // A tool printed a NUL, an escape sequence, what XML forbids, and instead of # what is not UTF-8.
            event("issueRecorded", slow, at: 110, ##"a\u0000b\u001b[31mc\ufffe<&#"##, issue),
            event("testEnded", fast, at: 110), event("testEnded", slow, at: 140),
        ]
        let end = ended ? event("runEnded", nil, at: 140) : #"{"kind": "event", "payl"#
        return (lines + [end]).joined(separator: "\n")
    }

    /// What `deploy/test-report.py` prints of a run.
    private static func report(_ command: String, _ events: String, turns: String? = nil) throws -> (
        status: Int32, output: String
    ) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-report-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let bytes = events.utf8.map { $0 == UInt8(ascii: "#") ? 0xff : $0 }
        try Data(bytes).write(to: folder.appending(path: "1.jsonl"))
        try turns?.write(to: folder.appending(path: "1.turns"), atomically: true, encoding: .utf8)
        let script = "FOLDER='\(folder.path)'; deploy/test-report.py \(command)"
        return try #require(try PackageFiles.run(["bash", "-c", script]))
    }

    @Test("A failed test is repeated whatever bytes it printed; none is where too many failed or the process crashed")
    func failedTests() throws {
        let failed = try Self.report(#"failed 1 "$FOLDER/1.jsonl""#, Self.events())
        #expect(failed.status == 0 && failed.output == #"^SomeTests\.Slow/Inner/slow\(\)/"# + "\n", "\(failed.output)")
        let tooMany = try Self.report(#"failed 0 "$FOLDER/1.jsonl""#, Self.events())
        #expect(tooMany.status == 1 && tooMany.output.contains("1 tests failed"), "\(tooMany.output)")
        let crashed = try Self.report(#"failed 1 "$FOLDER/1.jsonl""#, Self.events(ended: false))
        #expect(crashed.status == 1 && crashed.output.contains("ended early"), "\(crashed.output)")
    }

    @Test("The end of a run says how many tests were skipped and why, and which suites took its time")
    func summary() throws {
        let summary = try Self.report(#"summary "$FOLDER""#, Self.events())
        #expect(summary.status == 0)
        let skipped = """
            skipped: 4 of 6 tests
                 2  only with SOAK
                 1  nginx is not installed
                 1  some arguments of "D"
            the slowest suites, of 40 s:
              35.0  SomeTests.Slow/Inner
               5.0  SomeTests.Fast

            """
        #expect(summary.output.hasPrefix(skipped), "\(summary.output)")
        // A test that waited for its turn is not slow.
        let turns = "100.5 101.5 SomeTests.Slow/Inner/slow()/A.swift:1:2\n"
        let waited = try Self.report(#"summary "$FOLDER""#, Self.events(ended: false), turns: turns)
        #expect(waited.output.contains("\n   9.5  SomeTests.Fast\n   0.5  SomeTests.Slow/Inner\n"), "\(waited.output)")
    }

    /// CI runs the tests of the package: `.ci/run` has no list of its own.
    @Test func continuousIntegrationRunsTheSameTests() throws {
        let script = try PackageFiles.text(".ci/run")
        #expect(script.contains("swift format lint --strict -r Sources Tests Package.swift"))
        #expect(script.hasSuffix("deploy/test.sh\n"))
    }
}
