import Foundation
import TestSupport
import Testing

/// `.github` and `deploy/release.sh`, which a forge runs for a tag. Here doubles stand in for docker, git and cosign.
@Suite struct ReleaseTests {
    private typealias Mapping = [String: Any]

    private static let workflow = ".github/workflows/release.yml"
    private static let workflows = [workflow, ".github/workflows/check.yml"]

    @Test(
        "The workflows, the forms of issues and the bot's file are valid by their schemas",
        .enabled(if: PackageFiles.hasSchemas, "no validator is installed")
    )
    func schemas() throws {
        let forms = [".github/ISSUE_TEMPLATE/bug.yml", ".github/ISSUE_TEMPLATE/request.yml"]
        try PackageFiles.expectValid(Self.workflows, by: "github-workflows")
        try PackageFiles.expectValid(forms, by: "github-issue-forms")
        try PackageFiles.expectValid([".github/ISSUE_TEMPLATE/config.yml"], by: "github-issue-config")
        try PackageFiles.expectValid([".github/dependabot.yml"], by: "dependabot")
        // Where actionlint is installed, it finds nothing.
        if let judged = try PackageFiles.run(["actionlint"] + Self.workflows) {
            #expect(judged.status == 0, "\(judged.output)")
        }
    }

    @Test(
        "A workflow has no rights but those of its jobs, and each action is one commit",
        arguments: [
            (workflow, ["build", "publish"], writer: "publish", actions: 6, scripts: 6),
            (".github/workflows/check.yml", ["format", "plain"], writer: "none", actions: 2, scripts: 2),
        ]
    )
    func rights(_ path: String, _ names: [String], writer: String, actions: Int, scripts: Int) throws {
        let text = try PackageFiles.text(path)
        let workflow = try #require(try PackageFiles.yaml(text).first as? Mapping)
        #expect((workflow["permissions"] as? Mapping)?.isEmpty == true)
        let jobs = try #require(workflow["jobs"] as? [String: Mapping])
        #expect(jobs.keys.sorted() == names)
        for (name, job) in jobs {
            #expect(job["permissions"] is Mapping && job["timeout-minutes"] is Int, "\(name)")
            let writes = (job["permissions"] as? [String: String] ?? [:]).filter { $0.value == "write" }.keys
            #expect(writes.contains("contents") == (name == writer), "only the release itself is written")
            #expect(writer != "none" || writes.isEmpty, "a pull request writes nothing")
        }
        let uses = text.split(separator: "\n").filter { $0.contains("uses: ") }
        #expect(uses.count >= actions)
        for line in uses {
            #expect(line.contains(/uses: [\w.-]+\/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/), "\(line)")
        }
        // What is in a commit's or tag's name is never a part of a script.
        let lines = text.split(separator: "\n").filter { $0.contains("run: ") }
        #expect(lines.allSatisfy { !$0.contains("${{") } && lines.count == scripts, "\(lines)")
    }

    @Test("A pull request has the format that CI checks, and the tests on a build without unsafe flags")
    func pullRequests() throws {
        let text = try PackageFiles.text(".github/workflows/check.yml")
        let format = try #require(
            try PackageFiles.text(".ci/run").split(separator: "\n").first { $0.hasPrefix("swift ") }
        )
        #expect(text.contains("- run: \(format)\n"))
        #expect(text.contains("SALLYPORT_PLAIN: \"1\"\n") && text.contains("run: deploy/test.sh --in-process\n"))
        #expect(!text.contains("pull_request_target"), "code of others would run with the rights of this repository")
    }

    @Test("The bot's file names folders that exist, and every kind of package that has one version")
    func bot() throws {
        let bot = try #require(try PackageFiles.yaml(PackageFiles.text(".github/dependabot.yml")).first as? Mapping)
        let updates = try #require(bot["updates"] as? [Mapping])
        let kinds = updates.compactMap { $0["package-ecosystem"] as? String }
        #expect(kinds == ["swift", "github-actions", "docker", "docker-compose"])
        for update in updates {
            let folders = update["directories"] as? [String] ?? [update["directory"] as? String ?? "none"]
            for folder in folders {
                let path = PackageFiles.root.appending(path: folder).path
                #expect(FileManager.default.fileExists(atPath: path), "\(folder)")
            }
        }
    }

    /// Runs the steps of the workflow with doubles, which write down how they were called.
    private static func release(_ steps: [String], tag: String? = nil) throws -> (
        status: Int32, output: String, calls: String, files: [String: String]
    ) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-release-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let script = """
            set -euo pipefail
            export FOLDER='\(folder.path)' ARCH=amd64; mkdir -p "$FOLDER/bin"
            cat >"$FOLDER/bin/docker" <<'END'
            #!/bin/bash
            echo "docker $*" >>"$FOLDER/calls"
            case "$*" in
            version*) echo "$ARCH" ;;
            *imagetools\\ inspect*) echo "sha256:$(printf '%s' "$4" | sha256sum | cut -c 1-64)" ;;
            *--target\\ sbom*) mkdir -p "$FOLDER/out/sbom"; echo "{}" >"$FOLDER/out/sbom/sallyport.cdx.json" ;;
            *--target\\ binary*) mkdir -p "$FOLDER/out/sallyport-$VERSION-linux-$ARCH"
                echo "$ARCH" >"$FOLDER/out/sallyport-$VERSION-linux-$ARCH/sallyport" ;;
            *--metadata-file*) digest=$(printf '%s' "$ARCH" | sha256sum | cut -c 1-64)
                printf '{\\n  "containerimage.digest": "sha256:%s",\\n  "image.name": "x"\\n}\\n' "$digest" \\
                    >"$FOLDER/out/metadata" ;;
            esac
            END
            printf '#!/bin/sh\\necho "cosign $*" >>"$FOLDER/calls"\\n[ "$1" != sign-blob ] || touch "$4"\\n' >"$FOLDER/bin/cosign"
            printf '#!/bin/sh\\ncase "$*" in *log*) echo 1700000000;; *) echo c0ffee;; esac\\n' >"$FOLDER/bin/git"
            chmod 755 "$FOLDER/bin"/*
            export PATH="$FOLDER/bin:$PATH" VERSION=$(.build/release/sallyport --version)
            TAG=\(tag ?? "v$VERSION")
            \(steps.joined(separator: "\n"))
            """
        let result = try #require(try PackageFiles.run(["bash", "-c", script]))
        let calls = (try? String(contentsOf: folder.appending(path: "calls"), encoding: .utf8)) ?? ""
        let out = folder.appending(path: "out")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: out.path)) ?? []
        let files = names.map { name in
            (name, (try? String(contentsOf: out.appending(path: name), encoding: .utf8)) ?? "")
        }
        return (
            result.status, result.output, calls.replacing(folder.path, with: "FOLDER"),
            Dictionary(uniqueKeysWithValues: files)
        )
    }

    private static let build = #"deploy/release.sh build "$TAG" registry.example.com/Owner/Sallyport "$FOLDER/out""#
    private static let publish = build.replacing(" build ", with: " publish ")

    @Test("A tag becomes two images under one name, signed, with bills of materials, and archives with checksums")
    func becomesARelease() throws {
        let steps = [Self.build, "export ARCH=arm64", Self.build, Self.publish]
        let (status, output, calls, files) = try Self.release(steps)
        #expect(status == 0, "\(output)")
        let version = try #require(try PackageFiles.run([".build/release/sallyport", "--version"])).output
            .trimmingCharacters(in: .newlines)
        let names = ["amd64", "arm64"].map { "sallyport-\(version)-linux-\($0)" }
        #expect(
            files.keys.sorted()
                == ["SHA256SUMS", "SHA256SUMS.sigstore.json"] + names.flatMap { ["\($0).cdx.json", "\($0).tar.gz"] }
        )
        let sums = try #require(files["SHA256SUMS"]).split(separator: "\n")
        #expect(sums.count == 4)
        // Base images are what they are today, by digest.
        let bases = calls.matches(of: #/--build-arg (BUILD_IMAGE|RUN_IMAGE)=\S+@sha256:[0-9a-f]{64} /#)
        #expect(bases.count == 12)
        let pushes = calls.split(separator: "\n").filter { $0.contains("push=true") }
        #expect(pushes.count == 2)
        for push in pushes {
            #expect(push.contains("--provenance mode=max "))
            #expect(push.contains("type=image,name=registry.example.com/owner/sallyport,push-by-digest=true"))
            #expect(push.contains("--label org.opencontainers.image.version=\(version) "))
        }
        let joined = try #require(calls.split(separator: "\n").first { $0.contains("imagetools create") })
        #expect(joined.contains("--tag registry.example.com/owner/sallyport:\(version) "))
        #expect(joined.matches(of: #/owner/sallyport@sha256:[0-9a-f]{64}/#).count == 2)
        let signed = calls.split(separator: "\n").filter { $0.hasPrefix("cosign ") }
        #expect(signed.map { $0.split(separator: " ")[1] } == ["sign", "attest", "attest", "sign-blob"])
        #expect(signed[0].contains(/^cosign sign --yes --recursive registry\.example\.com\/owner\/sallyport@sha256:/))
        for (call, name) in zip(signed[1...2], names) {
            #expect(call.contains("--type cyclonedx --predicate FOLDER/out/\(name).cdx.json "), "\(call)")
        }
    }

    @Test("The same sources give the same archive, with the licence and what an installation begins with")
    func archive() throws {
        let list = #"tar -tzf "$FOLDER"/out/*.tar.gz; sha256sum <"$FOLDER/out/$(cd "$FOLDER/out" && echo *.tar.gz)""#
        let (status, output, _, _) = try Self.release([Self.build, list, Self.build, list])
        #expect(status == 0, "\(output)")
        let lines = output.split(separator: "\n").map(String.init)
        let half = lines.count / 2
        #expect(half > 4 && lines[..<half] == lines[half...])
        for name in ["sallyport", "LICENSE", "sallyport.service", "sallyport.reference.yaml"] {
            #expect(lines.contains { $0.hasSuffix("/\(name)") }, "\(name)")
        }
    }

    @Test("A tag that is not the version's is refused before anything is built; so is a release of one architecture")
    func refusals() throws {
        let other = try Self.release([Self.build], tag: "v9.9.9")
        #expect(other.status == 1 && other.calls.isEmpty)
        #expect(other.output.contains("the tag v9.9.9 is not v"))
        let half = try Self.release([Self.build, Self.publish])
        #expect(half.status != 0 && !half.calls.contains("imagetools create") && !half.calls.contains("cosign"))
        let usage = try #require(try PackageFiles.run(["deploy/release.sh", "deploy"]))
        #expect(usage.status == 64 && usage.output.contains("deploy/release.sh build TAG IMAGE FOLDER"))
    }

    @Test("The workflow runs the steps of the script, and the Dockerfile has what they ask for")
    func steps() throws {
        let workflow = try PackageFiles.text(Self.workflow)
        let dockerfile = try PackageFiles.text("deploy/Dockerfile")
        for step in ["build", "publish"] {
            #expect(workflow.contains(#"run: deploy/release.sh \#(step) "$GITHUB_REF_NAME" "$IMAGE" release"#))
        }
        #expect(dockerfile.contains("\nFROM scratch AS binary\nCOPY --from=build /runtime/sallyport /runtime/lib/ /\n"))
        // The libraries of the archive are found beside the binary.
        let header = try #require(try PackageFiles.run(["readelf", "-d", ".build/release/sallyport"]))
        #expect(header.output.contains("Library runpath: [$ORIGIN]"))
    }

    @Test(
        "What the documents of .github name between backticks exists",
        arguments: ["CONTRIBUTING.md", "SECURITY.md", "pull_request_template.md"]
    )
    func documents(_ name: String) throws {
        let text = try PackageFiles.text(".github/\(name)")
        let paths = text.matches(of: /`((Sources|Tests|deploy|Config|\.ci)(\/[\w.]+)*)/).map { String($0.1) }
        for path in paths {
            #expect(FileManager.default.fileExists(atPath: PackageFiles.root.appending(path: path).path), "\(path)")
        }
        #expect(name != "CONTRIBUTING.md" || paths.count > 20)
    }
}
