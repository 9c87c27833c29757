package com.example.app

import org.json.JSONException
import org.json.JSONObject

/**
 * The web app whose pages the native app shows, signed in by a transfer token.
 *
 * @param origin e.g. `https://app.example.com`, as browsers write it
 */
class WebApp(val origin: String) {
    private val isSecure = origin.startsWith("https:")

    /** Whether it is a page of this app. */
    fun contains(url: String): Boolean = url == origin || url.startsWith("$origin/")

    /** Handoff by cookie, for a WebView of the app: it has no domain, and no script can read it. */
    fun cookie(token: String): String = setCookie("session_transfer_token=$token")

    /** Asks the gateway for a challenge in place of the sign-in page when the web session has ended. */
    val announcement: String
        get() = setCookie(if (isSecure) "__Host-sallyport-native=1" else "sallyport-native=1")

    private fun setCookie(pair: String) = "$pair; Path=/; HttpOnly" + if (isSecure) "; Secure" else ""

    /** Handoff by query, for a browser whose cookies the app cannot set. The gateway takes the token out of the URL. */
    fun page(target: String, token: String): String {
        val page = (origin + target).substringBefore('#')
        val fragment = target.substringAfter('#', "").let { if (it.isEmpty()) "" else "#$it" }
        return "$page${if ('?' in page) '&' else '?'}session_transfer_token=${encoded(token)}$fragment"
    }

    /** Where the user signs in by hand, and comes back to the page. */
    fun signInPage(target: String): String = "$origin$SIGN_IN?return_to=${encoded(target)}"

    /** The page for which the gateway shows its sign-in page; null if [url] is another page. */
    fun signInTarget(url: String): String? =
        if (url.startsWith("$origin$SIGN_IN?")) checked(parameters(url)["return_to"]) else null

    /** The path and query for which the gateway's page asks the app to mint another token; null if it is none of this site's. */
    fun challenged(message: String): String? = try {
        val challenge = JSONObject(message)
        val isOurs = challenge.getString("type") == "session_transfer" && challenge.getString("realm") == origin
        if (isOurs) checked(challenge.getString("return_to")) else null
    } catch (_: JSONException) {
        null
    }

    private fun checked(target: String?) = target?.takeIf { it.startsWith("/") && !it.startsWith("//") }

    private companion object {
        const val SIGN_IN = "/.sallyport/login"
    }
}

/**
 * How often the app opens a page with a new token: three times a minute. Without a bound, a device whose tokens are refused, or a
 * WebView that keeps no cookies, would go round for ever.
 */
class Tries {
    private val times = ArrayDeque<Long>()

    fun next(now: Long = System.currentTimeMillis()): Boolean {
        while (times.isNotEmpty() && now - times.first() > 60_000) times.removeFirst()
        times.addLast(now)
        return times.size <= 3
    }
}
