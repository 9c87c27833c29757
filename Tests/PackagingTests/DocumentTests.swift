import Foundation
import Testing
import Vocabulary

/// The README and the scripts are true.
@Suite struct DocumentTests {
    @Test func explainsEveryReasonAndNoOther() throws {
        let readme = try PackageFiles.text("README.md")
        let start = try #require(readme.firstRange(of: "## Reason ids"))
        let section = readme[start.upperBound...]
        let end = section.firstRange(of: "\n## ")?.lowerBound ?? section.endIndex
        let rows = section[..<end].split(separator: "\n").filter { $0.hasPrefix("| `") }
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

    /// Every section that the README links to exists, once, by the rules by which forges name sections.
    @Test func linksToSectionsThatExist() throws {
        var isCode = false
        var sections: [String] = []
        let readme = try PackageFiles.text("README.md")
        for line in readme.split(separator: "\n") {
            if line.hasPrefix("```") { isCode.toggle() }
            if !isCode, line.hasPrefix("#"), let space = line.firstIndex(of: " ") {
                let name = line[space...].dropFirst().lowercased().replacing(" ", with: "-")
                sections.append(name.filter { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" })
            }
        }
        sections += readme.matches(of: /<a id="([^"]+)"/).map { String($0.1) }
        #expect(Set(sections).count == sections.count)
        for link in Set(readme.matches(of: /\]\(#([^)]+)\)/).map { String($0.1) }) {
            #expect(sections.contains(link), "\(link)")
        }
    }

    /// Every linked file and script of the README exists.
    @Test func namesFilesThatExist() throws {
        let readme = try PackageFiles.text("README.md")
        let links = readme.matches(of: /\]\(((?!\.\.\/)[A-Za-z.][^)#:]*)\)/).map { String($0.1) }
        let scripts = readme.matches(of: /\b(deploy\/[\w.]+)/).map { String($0.1) }
        #expect(!links.isEmpty && !scripts.isEmpty)
        for path in Set(links + scripts) {
            #expect(FileManager.default.fileExists(atPath: PackageFiles.root.appending(path: path).path), "\(path)")
        }
    }

    @Test(
        arguments: [
            "deploy/build.sh", "deploy/demo.sh", "deploy/test.sh", "deploy/release.sh", "deploy/compose/secrets.sh",
            "Tests/Models/check.sh", ".ci/run",
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

    /// The tables of the benchmark are whole, and those of the model are what it computes from `deploy/costs.txt` today.
    @Test(arguments: ["deploy/bench/run.py", "deploy/bench/scale.py"])
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
