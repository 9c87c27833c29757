import Foundation
import GatewayBench
import TestSupport
import Testing

/// The guide's three stories, run as they are printed.
@Suite(.serialized) struct StoryTests {
    @Test func everyCommandWorksAsItIsPrinted() throws {
        let guide = try Documents.guide("ThreeStories")
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        // The processes inherit the blocked signals of the tests' threads, so the last line's SIGTERM does not end them all.
        let (gateway, app) = (try ServerPorts.take(), try ServerPorts.take())
        let script = """
            cd '\(Gateway.root.path)'
            export TMPDIR='\(folder.path)' SALLYPORT_LISTEN=127.0.0.1:\(gateway) SALLYPORT_ADMIN_LISTEN=127.0.0.1:0
            trap 'kill -9 $GATEWAY $APP 2>/dev/null' EXIT
            \(guide.blocks("sh").joined(separator: "\n"))
            for TRY in $(seq 100); do kill -0 $GATEWAY 2>/dev/null || break; sleep 0.1; done
            cat sallyport.log
            """
            .replacing("$PWD/.build/release", with: Gateway.binary.deletingLastPathComponent().path)
            // A second is enough on a machine that does nothing else.
            .replacing("sleep 1", with: "sleep 5")
            .replacing("localhost:8080", with: "localhost:\(gateway)").replacing("3000", with: "\(app)")
        let run = try Servers.run("/bin/bash", ["-c", script])
        let promised = guide.blocks("text")
        #expect(promised.count == 3)
        for text in promised { #expect(run.output.contains(text), "\(run.output)") }
        #expect(!run.output.contains("Traceback"), "\(run.output)")
        #expect(run.status == 0, "\(run.output)")
        // Whoever ends a story wants its ports for the next one.
        let stopping = run.output.split(separator: "\n").first { $0.contains(#""message":"stopping""#) }
        #expect(stopping?.contains(#""new_requests_for":"0.0 seconds""#) == true, "\(run.output)")
    }
}
