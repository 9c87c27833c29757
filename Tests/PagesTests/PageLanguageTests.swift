import Pages
import Testing

@Suite("The languages of the pages")
struct PageLanguageTests {
    private static let english = PageLanguage.included[0]

    private func position(_ field: String, among languages: [PageLanguage] = PageLanguage.included) -> String {
        var field = field
        return languages[field.withUTF8 { languages.position(accepting: $0) }].tag
    }

    @Test("Every language has every text, with the same placeholders, and none is left over from another")
    func complete() {
        #expect(PageLanguage.included.map(\.tag) == ["en", "de", "fr", "es"])
        #expect(Set(PageLanguage.keys).count == PageLanguage.keys.count)
        for language in PageLanguage.included {
            for key in PageLanguage.keys {
                let original = Self.english[key] ?? ""
                let text = language[key] ?? ""
                #expect(!text.isEmpty && !original.isEmpty, "\(language.tag) \(key)")
                #expect(
                    PageLanguage.placeholders(in: text) == PageLanguage.placeholders(in: original),
                    "\(language.tag) \(key)"
                )
                // A sentence stays a sentence.
                #expect(text.hasSuffix(".") == original.hasSuffix("."), "\(language.tag) \(key)")
                // Minutes are called so in French, too.
                if language.tag != "en", original.count > 15 { #expect(text != original, "\(language.tag) \(key)") }
            }
        }
    }

    @Test(
        "The browser's choice counts, by weight and order; else the first language",
        arguments: [
            ("", "en"), ("de", "de"), ("de-AT,en;q=0.5", "de"), ("fr-CH, fr;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5", "fr"),
            ("en;q=0.8, de;q=0.9", "de"), ("ES-419", "es"), ("it, ja;q=0.9, es;q=0.1", "es"), ("nl", "en"),
            ("de;q=0", "en"), ("de;q=0.000, fr;q=0.001", "fr"), ("*", "en"), (" de ;q=1.000", "de"), ("deu", "en"),
            ("d", "en"), ("de;q=2, fr", "fr"), ("de;q=x, fr;q=0.2", "fr"), ("de;q=1.5", "en"), ("de;q", "en"),
            ("de;;q=1", "en"), (",,,de", "de"), (";q=1,de;q=0.3", "de"), ("de;q=0.1234, es;q=0.1", "es"),
            ("-,de-", "de"), (String(repeating: "x,", count: 4000) + "de", "en"),
        ]
    )
    func choice(field: String, expected: String) {
        #expect(self.position(field) == expected)
    }

    @Test("The longest tag that fits is chosen, in any case of its letters")
    func longest() {
        let languages =
            ["en", "pt", "pt-BR"].map { PageLanguage(tag: $0, texts: [:]) }
        #expect(self.position("pt-br", among: languages) == "pt-BR")
        #expect(self.position("pt-PT", among: languages) == "pt")
        #expect(self.position("PT-BR-x-a,en;q=0.9", among: languages) == "pt-BR")
    }

    @Test("A value is escaped and emphasised, replaces its placeholder once, and is no placeholder itself")
    func values() {
        let text = Self.english.html(.confirmAccount, ["host": "<b>{account}", "account": "Zoë & {host}"])
        #expect(
            text
                == "You will be signed in to <strong dir=\"auto\">&lt;b&gt;{account}</strong> as <strong dir=\"auto\">Zoë &amp; {host}</strong>."
        )
        #expect(Self.english.text(.signOutQuestion, ["host": "a.example"]) == "Do you want to sign out of a.example?")
    }

    @Test("A wait is said in seconds or minutes, never less than it is")
    func wait() {
        #expect(Self.english.wait(seconds: 0) == "You can try again in 2 seconds.")
        #expect(Self.english.wait(seconds: 90) == "You can try again in 90 seconds.")
        #expect(Self.english.wait(seconds: 91) == "You can try again in 2 minutes.")
        #expect(Self.english.wait(seconds: 121) == "You can try again in 3 minutes.")
    }

    @Test("A time is said in whole days, hours or minutes, and never as one of them")
    func time() {
        for (minutes, text) in [
            (2, "2 minutes"), (30, "30 minutes"), (60, "60 minutes"), (90, "90 minutes"), (120, "2 hours"),
            (1440, "24 hours"), (2880, "2 days"), (2881, "2881 minutes"),
        ] {
            #expect(Self.english.time(.seconds(minutes * 60)) == text)
        }
    }

    @Test(
        "The direction is that of the script, which the tag may name",
        arguments: [
            ("en", "ltr"), ("ar", "rtl"), ("ar-EG", "rtl"), ("he", "rtl"), ("FA", "rtl"), ("ur-PK", "rtl"),
            ("az-Arab", "rtl"), ("ar-Latn", "ltr"), ("pt-BR", "ltr"), ("zh-Hant", "ltr"),
        ]
    )
    func direction(tag: String, direction: String) {
        #expect(PageLanguage(tag: tag, texts: [:]).direction == direction)
    }

    @Test("An operator's texts replace those of their language; a language of the operator's falls back to English")
    func overlay() {
        let german = PageLanguage(tag: "de", texts: ["sign_in.title": "Hereinspaziert"])
        #expect(german.text(.signInTitle) == "Hereinspaziert" && german.text(.signInPassword) == "Passwort")
        let polish = PageLanguage(tag: "pl", texts: ["sign_in.title": "Zaloguj się"])
        #expect(polish.text(.signInTitle) == "Zaloguj się" && polish.text(.signInPassword) == "Password")
    }
}
