import Foundation
import Testing

/// The container image, as far as it can be checked without a container engine.
@Suite struct ImageTests {
    /// The libraries of `gcr.io/distroless/cc-debian12`: glibc, libgcc, libstdc++.
    static let carried: Set<String> = [
        "libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libresolv.so.2", "libgcc_s.so.1",
        "libstdc++.so.6",
    ]

    /// The instructions of the last stage, with continuation lines joined and without comments.
    let instructions: [String]

    init() throws {
        let text = try PackageFiles.text("deploy/Dockerfile").replacing("\\\n", with: " ")
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map(String.init)
        let last = try #require(lines.lastIndex { $0.hasPrefix("FROM ") })
        self.instructions = Array(lines[last...])
    }

    @Test func copiesEveryLibraryThatTheBinaryNeeds() throws {
        let ldd = try #require(try PackageFiles.run(["ldd", ".build/release/sallyport"]))
        #expect(ldd.status == 0, "\(ldd.output)")
        let needed = ldd.output.split(separator: "\n").compactMap { line -> String? in
            let name = line.split(separator: " ").first.map { $0.trimmingPrefix(while: \.isWhitespace) }
            return name.map { String($0.split(separator: "/").last ?? $0) }
        }.filter { !$0.hasPrefix("linux-vdso") && !$0.hasPrefix("ld-linux") }
        let copied = self.instructions.filter { $0.hasPrefix("COPY ") }.flatMap { instruction in
            instruction.split(separator: " ").dropFirst().map { String($0.split(separator: "/").last ?? "") }
        }
        let missing = Set(needed).subtracting(Self.carried).subtracting(copied)
        #expect(!needed.isEmpty && missing.isEmpty, "the image lacks \(missing.sorted())")
        let surplus = Set(copied.filter { $0.contains(".so") }).subtracting(needed)
        #expect(surplus.isEmpty, "the image carries what the binary does not need: \(surplus.sorted())")
    }

    /// Otherwise the run image would need a Swift runtime.
    @Test func linksNoSwiftLibraryDynamically() throws {
        let ldd = try #require(try PackageFiles.run(["ldd", ".build/release/sallyport"]))
        #expect(!ldd.output.contains("libswift") && !ldd.output.contains("libFoundation"))
        #expect(!ldd.output.contains("not found"))
    }

    /// Nothing pulls in Foundation's data for all languages, which alone have 35 MB, or what else no request needs.
    @Test func isSmall() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "sallyport-\(UUID())")
        defer { try? FileManager.default.removeItem(at: file) }
        let stripped = try #require(try PackageFiles.run(["strip", "-o", file.path, ".build/release/sallyport"]))
        #expect(stripped.status == 0, "\(stripped.output)")
        let size = try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int
        #expect(try #require(size) < 32 * 1_048_576)
    }

    @Test func runsAsNobodyWithoutAShell() {
        #expect(self.instructions.contains("USER 65532:65532"))
        #expect(self.instructions.contains("STOPSIGNAL SIGTERM"))
        #expect(!self.instructions.contains { $0.hasPrefix("RUN ") }, "there is no shell in the run image")
        for name in ["ENTRYPOINT ", "CMD "] {
            #expect(self.instructions.contains { $0.hasPrefix("\(name)[") }, "\(name)in exec form")
        }
        // Alive, not ready: a container must not be restarted because its store is unreachable.
        let probe = #"CMD ["/usr/bin/sallyport", "healthcheck", "--live"]"#
        #expect(self.instructions.contains { $0.hasPrefix("HEALTHCHECK ") && $0.hasSuffix(probe) })
    }

    /// So that `--build-arg` can give each base image by its digest. A default with a digest would grow old unnoticed.
    @Test func takesEachBaseImageAsAnArgument() throws {
        let dockerfile = try PackageFiles.text("deploy/Dockerfile")
        let stages = dockerfile.matches(of: /\nFROM [^\n]+ AS (\w+)\n/).map { String($0.1) } + ["scratch"]
        let images = dockerfile.matches(of: /\nFROM (\S+)/).map { String($0.1) }.filter { !stages.contains($0) }
        #expect(images == ["${BUILD_IMAGE}", "${RUN_IMAGE}"])
        for image in images {
            let name = image.dropFirst(2).dropLast()
            #expect(dockerfile.contains("\nARG \(name)="))
        }
        #expect(dockerfile.contains("--build-arg BUILD_IMAGE=swift:6.3-bookworm@sha256:"))
    }

    /// The image's binary is built with the same flags as the tested one.
    @Test func buildsWithTheFlagsOfTheTests() throws {
        let script = try PackageFiles.text("deploy/build.sh")
        let line = try #require(script.split(separator: "\n").first { $0.hasPrefix("SALLYPORT_FLAGS=(") })
        let flags = line.dropFirst("SALLYPORT_FLAGS=(".count).dropLast()
        let dockerfile = try PackageFiles.text("deploy/Dockerfile")
        let build = try #require(dockerfile.split(separator: "\n").first { $0.hasPrefix("RUN swift build") })
        #expect(build.replacing(" --product sallyport", with: "") == "RUN swift build \(flags)")
    }
}
