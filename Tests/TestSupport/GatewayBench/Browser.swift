package import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// Debian's Chromium without a window, controlled by the DevTools protocol over a pair of pipes.
package final class Browser {
    package static let program = "/usr/bin/chromium"

    private let process = Process()
    private let folder: URL
    /// To the browser, and from it.
    private let commands: Int32
    private let messages: Int32
    private var received: [UInt8] = []
    private var lastID = 0
    private var page = ""
    /// The URLs that pages asked for, the first one first; also those of apps, which no browser loads.
    package private(set) var requests: [String] = []

    /// Starts a browser with an empty profile and an empty page.
    ///
    /// - Parameter hosts: Names that it finds at these local ports in place of ports 80 and 443.
    package init(hosts: [String: Int] = [:]) throws {
        self.folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-browser-\(UUID())")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        let paths = ["commands", "messages"].map { [folder] in folder.appending(path: $0).path }
        for path in paths { guard mkfifo(path, 0o600) == 0 else { throw BenchFailure("mkfifo failed") } }
        // Both ends at once, because opening one end alone would wait for the browser.
        self.commands = open(paths[0], O_RDWR)
        self.messages = open(paths[1], O_RDWR)
        self.process.executableURL = URL(filePath: "/bin/bash")
        let flags =
            "--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --remote-debugging-pipe"
        self.process.arguments = [
            "-c",
            #"exec "$0" "# + flags
                + #" --host-resolver-rules="$2" --user-data-dir="$1/profile" 3<"$1/commands" 4>"$1/messages""#,
            Self.program, self.folder.path,
            hosts.flatMap { name, port in
                [80, 443].map { "MAP \(name):\($0) 127.0.0.1:\(port)" } + ["MAP \(name) 127.0.0.1"]
            }.joined(separator: ", "),
        ]
        self.process.environment = ["PATH": "/usr/bin:/bin", "HOME": self.folder.path]
        self.process.standardInput = FileHandle.nullDevice
        self.process.standardOutput = FileHandle.nullDevice
        self.process.standardError = FileHandle.nullDevice
        try self.process.run()
        _ = try self.openTab()
    }

    /// Opens an empty tab, to which all that follows applies, and returns its name.
    package func openTab() throws -> String {
        self.page = ""
        let target = try self.call("Target.createTarget", ["url": "about:blank"])
        let attached = try self.call(
            "Target.attachToTarget",
            ["targetId": target["targetId"] as? String ?? "", "flatten": true]
        )
        self.page = attached["sessionId"] as? String ?? ""
        try self.call("Network.enable")
        return self.page
    }

    /// Empties `requests`.
    package func forgetRequests() {
        self.requests = []
    }

    /// Lets all that follows apply to this tab.
    package func show(_ tab: String) {
        self.page = tab
    }

    /// A picture of the tab as PNG, of this size in CSS pixels.
    package func picture(width: Int, height: Int) throws -> Data {
        let size: [String: Any] = ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600]
        try self.call("Emulation.setDeviceMetricsOverride", size)
        let answer = try self.call("Page.captureScreenshot")
        return Data(base64Encoded: answer["data"] as? String ?? "") ?? Data()
    }

    /// Ends the browser.
    package func close() {
        _ = try? self.call("Browser.close")
        self.process.terminate()
        self.process.waitUntilExit()
        Glibc.close(self.commands)
        Glibc.close(self.messages)
        try? FileManager.default.removeItem(at: self.folder)
    }

    /// Opens a page and waits until it is loaded.
    package func visit(_ url: String) throws {
        _ = try self.call("Page.navigate", ["url": url])
        try self.wait(until: "document.readyState === 'complete'")
    }

    /// The value of an expression in the page, as text.
    package func value(_ expression: String) throws -> String {
        let answer = try self.call("Runtime.evaluate", ["expression": "String(\(expression))", "returnByValue": true])
        return (answer["result"] as? [String: Any])?["value"] as? String ?? ""
    }

    /// Runs a script in the page, as for a user's click.
    package func perform(_ script: String) throws {
        _ = try self.call("Runtime.evaluate", ["expression": script, "userGesture": true])
    }

    /// Waits until an expression is true, on this page or the next.
    package func wait(until expression: String) throws {
        for _ in 0..<600 {
            if try self.value(expression) == "true" { return }
            usleep(50_000)
        }
        throw BenchFailure(
            "not so: \(expression), at \(try self.value("location.href + document.body.innerText"))"
        )
    }

    /// Sends a command of the protocol and returns its result, which is empty when the page is being left.
    @discardableResult
    package func call(_ method: String, _ parameters: [String: Any] = [:]) throws -> [String: Any] {
        self.lastID += 1
        var message: [String: Any] = ["id": self.lastID, "method": method, "params": parameters]
        if !self.page.isEmpty { message["sessionId"] = self.page }
        let bytes = Array(try JSONSerialization.data(withJSONObject: message)) + [0]
        guard write(self.commands, bytes, bytes.count) == bytes.count else {
            throw BenchFailure("the browser takes no command")
        }
        while true {
            let answer = try JSONSerialization.jsonObject(with: Data(try self.nextMessage())) as? [String: Any] ?? [:]
            if answer["id"] as? Int == self.lastID { return answer["result"] as? [String: Any] ?? [:] }
            self.note(answer)
        }
    }

    private func note(_ event: [String: Any]) {
        guard event["method"] as? String == "Network.requestWillBeSent",
            let parameters = event["params"] as? [String: Any], let request = parameters["request"] as? [String: Any],
            let url = request["url"] as? String
        else { return }
        self.requests.append(url)
    }

    private func nextMessage() throws -> [UInt8] {
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            if let end = self.received.firstIndex(of: 0) {
                defer { self.received.removeSubrange(...end) }
                return Array(self.received[..<end])
            }
            var waiting = pollfd(fd: self.messages, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, 60_000) == 1 else { throw BenchFailure("the browser says nothing") }
            let count = read(self.messages, &piece, piece.count)
            guard count > 0 else { throw BenchFailure("the browser has gone") }
            self.received += piece[..<count]
        }
    }
}
