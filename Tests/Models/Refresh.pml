/* The rotation of refresh tokens: `RefreshFamily.place` and `rotated`, `TokenService+Refresh.swift`, `Scripts.replace` and
 * `RedisStore+Swap.swift`. An app refreshes at either gateway, with two requests at once, and repeats a request whose answer
 * was lost. Tokens are named by their generation, because each follows from the one before.
 *
 * Of the app it is taken for granted that it has a rotation's token within the overlap, by repeating a lost answer; that it
 * uses no new token before all its requests with the former one have reached a gateway; and that it repeats none of them
 * afterwards: else its own request counts as a theft. It need not wait for an answer: a request that others overtake while it runs
 * may take longer than the overlap (`wasPresent`).
 *
 * Promises:
 *   familyLives     Without THIEF: nothing that is lost is taken for a theft.
 *   noneOlder       A token gives nothing, under a reign in which the one after its successor was given out.
 *   endsForAll      With THIEF: after a token was taken for stolen, none of its family gives anything.
 *   rotationIsKept  After a faithful failover, the new primary knows each rotation that was answered.
 *
 * Safeguards that a switch takes out: NO_OVERLAP (the immediate predecessor counts as stolen), NO_LATER (a later token than the
 * present one counts as stolen), NO_PRESENT (a request that presented the present token counts as a theft when others have
 * overtaken it), NO_SWAP (a rotation does not look at what it replaces), NO_END (a theft ends nothing), NO_WAIT, NO_REWRITE (an
 * own write that is read back is not written again), NO_HOLD.
 *
 * FORMER_COUNTS shows a limit: the answer to the predecessor tells of a rotation that no replica may have confirmed. If a
 * failover undoes it, the app's token is a later one, and is taken; a thief's predecessor is taken once more, too.
 *
 * A failover and a restart are searched together if the failover is FAITHFUL and there is no thief: 63 million states, about
 * four minutes of one core, 2.6 GiB. Else they are searched one at a time. That the end of a family is not undone is the subject
 * of SignOut.
 */
#ifndef TRIES
#define TRIES 2
#endif

/* One byte: the generation, and who wrote it (1, 2; 0: neither), which stands for the attempt in it. A generation is written
 * once between two losses, so the two stand for the record's bytes, too. */
#define GENERATION(v) ((v) & 7)
#define PACK(generation, writer) ((generation) | ((writer) << 3))
/* The app has the token of generation 2, and once had those before. */
#define BEGIN 2
#define FIRST PACK(BEGIN, 0)

bool familyLives = true;
bool noneOlder = true;
bool endsForAll = true;
bool rotationIsKept = true;

inline promise(name, condition) {
    if
    :: (condition)
    :: else -> name = false; assert(name)
    fi
}

/* The latest token that the app has. */
byte held = BEGIN;
/* The app's requests that no gateway has read, and the latest token that it used. */
byte unread;
byte asked;
/* The overlap after the rotations to generations before this one is over (`rotatedAt`). */
byte overUntil;
#define isOver(v) (GENERATION(v) < overUntil)
/* The app repeats a request while it has used no later token, and the overlap is not over. */
#define mayRepeat (token == asked && token + 1 >= overUntil)
/* The latest generation that was given out under each reign. */
byte given[4];
/* The latest one that a rotation was answered with. */
byte kept;
/* The end of the family's session. */
bool hasEnded;

inline newReign() {
    given[reign] = GENERATION(past[head]);
#ifdef FAITHFUL
    promise(rotationIsKept, restarts > 0 || GENERATION(past[head]) >= kept)
#endif
}
inline gatewayMoved(g) { skip }

#include "Redis.pml"

/* `Scripts.replace` at the server of gateway `g`. */
inline replace(g) {
    if
    :: hasEnded -> isOther = true
#ifndef NO_SWAP
    :: !hasEnded && value(g) != judged -> isOther = true
#endif
    :: else ->
        promise(noneOlder, token + 1 >= given[reignOf(g)]);
        mine = PACK(token + 1, me);
        write(g, mine);
        overUntil = (overUntil > token + 1 -> token + 1 : overUntil);
        isOther = false
    fi
}

/* A request leaves, and is not at a gateway yet. */
inline send() {
    isSent = true;
    wasPresent = false;
    if
    :: isThief
    :: else -> unread++
    fi
}

/* One refresh after another. The thief has any token that the app once had. */
proctype Refresh(byte me; bool isThief) {
    byte g;
    byte tries;
    byte token;
    byte judged;
    byte mine;
    byte under;
    byte place;
    bool isOther;
    bool isSent;
    bool wasPresent;
    mtype answer;

next:
    atomic {
        if
        :: tries == TRIES -> goto over
        :: else -> tries++
        fi;
        /* The second asks once only, which keeps the search short. */
        if
        :: me == 2 -> tries = TRIES
        :: else
        fi
    }
    atomic {
        if
        :: isThief ->
            if
            :: token = held
            :: held > 0 -> token = held - 1
            :: held > 1 -> token = held - 2
            fi
        :: !isThief && (unread == 0 || asked == held) -> asked = held; token = held
        fi;
        send()
    }
read:
    atomic {
        judged = 0; mine = 0; under = 0; place = 0; isOther = false; answer = 0;
        if
        :: isSent ->
            isSent = false;
            if
            :: isThief
            :: else -> unread--
            fi;
            if
            :: g = me - 1
            :: isBehind[0] != isBehind[1] -> g = 2 - me
            fi
        :: else
        fi;
        if
        :: !serves(g) -> goto unavailable
        :: serves(g) && hasEnded -> goto finished
        :: serves(g) && !hasEnded -> judged = value(g); under = reignOf(g)
        fi;
        /* `RefreshFamily.place` */
        if
#ifndef NO_LATER
        :: token >= GENERATION(judged)
#else
        :: token == GENERATION(judged)
#endif
#ifndef NO_OVERLAP
        :: token + 1 == GENERATION(judged) && !isOver(judged) ->
            promise(noneOlder, token + 1 >= given[under]);
#ifdef FORMER_COUNTS
            kept = (kept > token + 1 -> kept : token + 1);
#endif
            goto issued
#endif
        :: else ->
            if
            :: wasPresent -> goto unavailable
            :: else
            fi;
#ifdef THIEF
#ifndef NO_END
            hasEnded = true;
#else
            endsForAll = false;
#endif
#else
            promise(familyLives, false);
#endif
            goto finished
        fi
    }
    /* `RedisStore.eventualReplace` */
    atomic {
        if
        :: !serves(g) || holds(g) -> goto unavailable
        :: else ->
            sent();
            under = reignOf(g);
            if
            :: true -> replace(g); place = head
            :: true -> replace(g); place = 0; goto readBack
            :: true -> goto readBack
            fi
        fi
    }
    atomic {
        wait(under, place, true, answer);
        if
        :: answer == short_ -> settled(); goto unavailable
        :: answer == lost_ -> goto readBack
        :: answer == confirmed_ && isOther -> settled(); goto changed
        :: answer == confirmed_ && !isOther -> settled(); goto rotated
        fi
    }
readBack:
    /* The value is the judged one, another's, or this attempt's own: then `confirm`. */
    atomic {
        settled();
        answer = 0; isOther = false;
        if
        :: !serves(g) || hasEnded -> goto unavailable
        :: else
        fi;
        if
        :: value(g) == judged -> goto unavailable
        :: value(g) != judged && (mine == 0 || value(g) != mine) -> goto changed
        :: else -> judged = 0
        fi
    }
    atomic {
        if
        :: !serves(g) || holds(g) -> goto unavailable
        :: serves(g) && !holds(g) && value(g) != mine -> goto changed
        :: else -> sent(); under = reignOf(g); place = head
        fi
    }
    atomic {
#ifdef NO_REWRITE
        wait(under, place, false, answer);
#else
        wait(under, place, true, answer);
#endif
        settled();
        if
        :: answer == confirmed_
        :: else -> goto unavailable
        fi
    }
    goto rotated;
changed:
    /* The same request reads once more. */
    atomic {
#ifndef NO_PRESENT
        wasPresent = true;
#endif
        goto read
    }
rotated:
    atomic {
        kept = (kept > token + 1 -> kept : token + 1);
#ifdef FAITHFUL
        promise(rotationIsKept, restarts > 0 || GENERATION(past[head]) >= kept)
#endif
    }
issued:
    atomic {
        /* The answer may be lost on its way to the app, which then repeats its request. */
        promise(endsForAll, endsForAll);
        given[under] = (given[under] > token + 1 -> given[under] : token + 1);
        if
        :: true
        :: !isThief && tries < TRIES && mayRepeat -> tries++; send(); goto read
        fi;
        if
        :: !isThief && held < token + 1 -> held = token + 1
        :: else
        fi;
        goto finished
    }
unavailable:
    atomic {
        if
        :: tries < TRIES && (isThief || mayRepeat) -> tries++; send(); goto read
        :: else -> goto finished
        fi
    }
finished:
    atomic {
        g = 0; token = 0; judged = 0; mine = 0; under = 0; place = 0; isOther = false; wasPresent = false; answer = 0;
        goto next
    }
over:
    tries = 0
}

/* The overlap is over after the rotations whose token the app has. */
active proctype Time() {
end:
    do
    :: atomic { unread == 0 && overUntil <= held -> overUntil = held + 1 }
    od
}

init {
    atomic {
        given[1] = BEGIN;
        kept = BEGIN;
        run Refresh(1, false);
#ifdef THIEF
        run Refresh(2, true)
#else
        run Refresh(2, false)
#endif
    }
}
