import Foundation
import GatewayBench

/// What a person does in a browser: finds things, presses them and types, with a pointer or with the keyboard alone.
struct Person {
    /// The user of all providers.
    static let ada = RealUser.ada

    let browser: Browser
    let usesKeyboard: Bool
    /// Whether the pages of the gateway and of providers that can do without scripts run none.
    var isWithoutScript = false

    /// Opens a page.
    func open(_ url: String) throws {
        try self.browser.call("Emulation.setScriptExecutionDisabled", ["value": self.isWithoutScript])
        try self.browser.visit(url)
    }

    /// Lets the pages that are loaded next run scripts, where a provider's pages are programs.
    func allowScripts() throws {
        try self.browser.call("Emulation.setScriptExecutionDisabled", ["value": false])
    }

    /// Waits until a page has what fits.
    func sees(_ selector: String, on page: String) throws {
        try self.browser.wait(
            until: "location.href.startsWith('\(page)') && document.readyState === 'complete' && "
                + "!!document.querySelector('\(selector)')"
        )
    }

    /// Presses the first thing that fits.
    func press(_ selector: String) throws {
        if self.usesKeyboard {
            try self.reach(selector)
            try self.key("Enter", 13, text: "\r")
        } else {
            try self.point(at: selector)
        }
    }

    /// Types into the first field that fits.
    func type(_ text: String, into selector: String) throws {
        if self.usesKeyboard { try self.reach(selector) } else { try self.point(at: selector) }
        try self.browser.perform("document.activeElement.select()")
        try self.browser.call("Input.insertText", ["text": text])
    }

    private func has(_ selector: String) throws -> Bool {
        try self.browser.value("!!document.querySelector('\(selector)')") == "true"
    }

    /// Goes on with the tabulator key until the focus is there.
    private func reach(_ selector: String) throws {
        for _ in 0..<80 {
            let isThere = "!!document.activeElement?.matches('\(selector)') && document.hasFocus()"
            if try self.browser.value(isThere) == "true" { return }
            try self.key("Tab", 9)
        }
        throw BenchFailure("the keyboard does not reach \(selector) at \(try self.browser.value("location.href"))")
    }

    private func key(_ name: String, _ code: Int, text: String? = nil) throws {
        var event: [String: Any] = ["key": name, "code": name, "windowsVirtualKeyCode": code]
        if let text { event["text"] = text }
        for type in [text == nil ? "rawKeyDown" : "keyDown", "keyUp"] {
            event["type"] = type
            try self.browser.call("Input.dispatchKeyEvent", event)
        }
    }

    private func point(at selector: String) throws {
        let place = try self.browser.value(
            """
            (() => {
                const element = document.querySelector('\(selector)');
                if (!element) return '';
                element.scrollIntoView({block: 'center'});
                const box = element.getBoundingClientRect();
                return `${box.x + box.width / 2} ${box.y + box.height / 2}`;
            })()
            """
        )
        let parts = place.split(separator: " ").compactMap { Double($0) }
        guard parts.count == 2 else {
            throw BenchFailure("there is no \(selector) at \(try self.browser.value("location.href"))")
        }
        for type in ["mousePressed", "mouseReleased"] {
            let event: [String: Any] = [
                "type": type, "x": parts[0], "y": parts[1], "button": "left", "clickCount": 1,
            ]
            try self.browser.call("Input.dispatchMouseEvent", event)
        }
    }

    // MARK: The pages of providers

    /// Signs in at the provider to which the browser has been sent. It may know the user already.
    func signIn(at provider: ChoiceBench.Choice, isKnown: Bool = false) throws {
        switch provider {
        case .company:
            try self.sees("input[name=username]", on: "http://127.0.0.1:")
            try self.type(Self.ada.login, into: "input[name=username]")
            try self.type(Self.ada.password, into: "input[name=password]")
            try self.press("form button")
        case .partner:
            if !isKnown {
                try self.sees("input[name=username]", on: "http://127.0.0.1:")
                // A page that is a program forgets what is typed, or moves its button, while it loads the rest of itself.
                for _ in 0..<3 {
                    try self.type(Self.ada.login, into: "input[name=username]")
                    try self.type(Self.ada.password, into: "input[name=password]")
                    try self.press("form button")
                    if eventually({ (try? self.has("button.btn-success")) == true }) { break }
                }
            }
            try self.sees("button.btn-success", on: "http://127.0.0.1:")
            try self.press("button.btn-success")
        case .hub:
            if !isKnown {
                try self.sees("input[name=username]", on: "http://127.0.0.1:")
                try self.type(Self.ada.login, into: "input[name=username]")
                try self.type(Self.ada.password, into: "input[name=password]")
                try self.press("form button")
            }
            try self.sees("button[name=confirm]", on: "http://127.0.0.1:")
            try self.press("button[name=confirm]")
        }
    }

    /// Agrees to the sign-out at the provider to which the browser has been sent; the server of plain OAuth 2.0 has no
    /// such page.
    func confirmSignOut(at provider: ChoiceBench.Choice) throws {
        switch provider {
        case .company:
            try self.sees("button[name=logout]", on: "http://127.0.0.1:")
            try self.press("button[name=logout]")
        case .partner:
            try self.sees("button.btn-danger", on: "http://127.0.0.1:")
            try self.press("button.btn-danger")
        case .hub: break
        }
    }
}
