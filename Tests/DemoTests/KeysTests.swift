import Foundation
import GatewayBench
import Testing

/// `keys` from an operator's point of view.
@Suite struct KeysTests {
    /// A folder for one test, and `keys` for a file in it.
    private struct Place: ~Copyable {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-keys-\(UUID())")
        var file: String { self.folder.appending(path: "secret").path }

        init() throws {
            try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(at: self.folder) }

        func keys(_ step: String, _ file: String? = nil) throws -> (status: Int32, output: String) {
            try Servers.run(Gateway.binary.path, ["keys", step, file ?? self.file])
        }

        /// The secrets in the file: its lines without the comments.
        func secrets() throws -> [String] {
            try String(contentsOfFile: self.file, encoding: .utf8).split(separator: "\n").filter { !$0.hasPrefix("#") }
                .map(String.init)
        }

        /// The ids that `list` prints, with the use of each.
        func list() throws -> [String] {
            let result = try self.keys("list")
            #expect(result.status == 0, "\(result.output)")
            return result.output.split(separator: "\n").map(String.init)
        }

        func mode(of path: String) throws -> Int? {
            (try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber)?.intValue
        }
    }

    @Test func makesAFileThatOnlyItsOwnerReadsAndOverwritesNone() throws {
        let place = try Place()
        #expect(try place.keys("make").status == 0)
        #expect(try place.mode(of: place.file) == 0o600)
        let secrets = try place.secrets()
        #expect(secrets.count == 1 && secrets[0].count == 64)
        let again = try place.keys("make")
        #expect(again.status == 1 && again.output.contains("is not overwritten"), "\(again.output)")
        #expect(try place.secrets() == secrets)
    }

    @Test func rotatesInThreeStepsAndSaysWhatComesNext() throws {
        let place = try Place()
        var said = try place.keys("make").output
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: place.file)
        let first = try place.secrets()
        let old = try #require(try place.list().first?.prefix(2))
        for step in ["promote", "retire"] {
            let refused = try place.keys(step)
            #expect(refused.status == 1, "\(step): \(refused.output)")
        }
        #expect(try place.secrets() == first, "what was refused changed nothing")

        let added = try place.keys("add")
        #expect(added.status == 0 && added.output.contains("sallyport keys promote"), "\(added.output)")
        said += added.output
        let both = try place.secrets()
        #expect(both.count == 2 && both[0] == first[0])
        let new = try #require(try place.list().last?.prefix(2))
        #expect(new != old)
        #expect(try place.list() == ["\(old)  signs and seals", "\(new)  accepted, waits for promote"])
        #expect(try place.keys("add").status == 1, "one rotation at a time")

        let promoted = try place.keys("promote")
        #expect(promoted.status == 0 && promoted.output.contains("sallyport keys retire"), "\(promoted.output)")
        said += promoted.output
        #expect(try place.list() == ["\(new)  signs and seals", "\(old)  accepted"])
        #expect(try place.keys("promote").status == 1, "a step that is done twice takes nothing back")
        #expect(try place.secrets() == both.reversed())

        let retired = try place.keys("retire")
        #expect(retired.status == 0 && retired.output.contains("removed \(old)"), "\(retired.output)")
        said += retired.output
        #expect(try place.secrets() == [both[1]])
        #expect(try place.mode(of: place.file) == 0o640)
        for secret in both { #expect(!said.contains(secret) && !said.contains(secret.prefix(8))) }
    }

    /// Other files and the gateway can read it all the time.
    @Test func leavesNoOtherFilesAndFollowsALink() throws {
        let place = try Place()
        _ = try place.keys("make")
        let link = place.folder.appending(path: "link").path
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: place.file)
        #expect(try place.keys("add", link).status == 0)
        #expect(try place.secrets().count == 2)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == place.file)
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.folder.path).sorted() == ["link", "secret"])
    }

    @Test func doesNothingToAFileThatAnotherProgramChanges() throws {
        let place = try Place()
        _ = try place.keys("make")
        let secrets = try place.secrets()
        let result = try Servers.run("/usr/bin/flock", [place.file, Gateway.binary.path, "keys", "add", place.file])
        #expect(result.status == 1 && result.output.contains("another program is changing it"), "\(result.output)")
        #expect(try place.secrets() == secrets)
    }

    /// However they interleave, one adds a secret, and the others find it added or in progress.
    @Test func addsOnceWhenManyAddAtOnce() throws {
        let place = try Place()
        _ = try place.keys("make")
        let add = "\(Gateway.binary.path) keys add \(place.file) >/dev/null 2>&1 && echo added"
        let result = try Servers.run("/bin/bash", ["-c", "for i in 1 2 3 4 5 6 7 8; do { \(add); } & done; wait"])
        #expect(result.output == "added\n")
        #expect(try place.secrets().count == 2)
    }

    @Test func saysWhatIsWrongWithAFileWithoutShowingIt() throws {
        let place = try Place()
        let canary = "canary-that-is-too-short"
        try Data("\(canary)\n".utf8).write(to: URL(filePath: place.file))
        for step in ["add", "promote", "retire", "list"] {
            let result = try place.keys(step)
            #expect(result.status == 1 && result.output.contains("a secret of 24 bytes"), "\(result.output)")
            #expect(!result.output.contains(canary))
            #expect(try place.keys(step, place.folder.appending(path: "nothing").path).status == 1)
            #expect(try place.keys(step, place.folder.path).status == 1)
        }
        #expect(try place.secrets() == [canary])
    }
}
