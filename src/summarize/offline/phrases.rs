//! Phrases by which sentences are told apart, in a dozen languages, parted by `|`.
//!
//! Nobody can list every way to give an order; these are the common forms. A rule that matches none is still carried as
//! part of its request when there is room.

use std::sync::LazyLock;

use regex::Regex;

/// Phrases that are looked for together: one expression takes a hundredth of the time of a search for each.
pub(super) struct Phrases(LazyLock<Option<Regex>>);

impl Phrases {
    /// Whether one of them stands in the text (lower case) between word limits.
    pub(super) fn is_in(&self, text: &str) -> bool {
        self.0.as_ref().is_some_and(|regex| regex.is_match(text))
    }
}

/// An expression for phrases. Word limits are those of ASCII: where a phrase begins or ends in another letter, or stands in
/// a script without blanks, none is asked for. Limits by Unicode's rules would make the search ten times as slow.
fn any_of(phrases: &str) -> Option<Regex> {
    let limit = |c: Option<char>| if c.is_some_and(|c| c.is_ascii_alphanumeric()) { r"(?-u:\b)" } else { "" };
    let parts: Vec<String> = phrases
        .split('|')
        .map(|phrase| format!("{}{}{}", limit(phrase.chars().next()), regex::escape(phrase), limit(phrase.chars().next_back())))
        .collect();
    Regex::new(&parts.join("|")).ok()
}

/// Words that make a sentence a standing rule wherever they stand.
pub(super) static STRONG: Phrases = Phrases(LazyLock::new(|| any_of(STRONG_LIST)));
const STRONG_LIST: &str = "\
    always|never|must|must not|mustn't|from now on|under no circumstances|at all times|forbidden|do not ever|immer\
    |niemals|nie|auf keinen fall|muss|müssen|darf nicht|dürfen nicht|verboten|ab jetzt|unbedingt|toujours|jamais|il faut\
    |doit|interdit|ne doit pas|siempre|nunca|jamás|debe|prohibido|sempre|deve|proibido|всегда|никогда|нельзя|обязательно\
    |запрещено|altijd|nooit|zawsze|nigdy|her zaman|asla|必须|必須|不要|不得|不能|禁止|始终|总是|永远|务必|一定要|只能|切勿|必ず|常に|してはいけない|しないで|絶対|절대\
    |항상|반드시|하지 마|금지";

/// Words that state a preference wherever they stand.
pub(super) static WISHES: Phrases = Phrases(LazyLock::new(|| any_of(WISHES_LIST)));
const WISHES_LIST: &str = "\
    i prefer|i'd prefer|prefer|i want you to always|should never|should always|should not|shouldn't|only|no need|not allowed|please use|don't use|do not use|don't want|do not want|make sure|instead of\
    |rather than|nur|bevorzuge|solo|seulement|uniquement|только|предпочитаю|优先|最好|偏好|だけ|べき|only want";

/// Words that tell a choice.
pub(super) static DECISIONS: Phrases = Phrases(LazyLock::new(|| any_of(DECISIONS_LIST)));
const DECISIONS_LIST: &str = "\
    decided|decision|we'll use|we will use|i'll use|i will use|going with|go with|chose|choose|chosen|opted|settled on\
    |agreed|sticking with|we keep|i kept|i made|trade-off|tradeoff|entschieden|décidé|decidido|решил|决定|采用|改用|方針\
    |ことにし|結論|결정";

/// Words that name what was chosen over.
pub(super) static ALTERNATIVES: Phrases = Phrases(LazyLock::new(|| any_of(ALTERNATIVES_LIST)));
const ALTERNATIVES_LIST: &str = "\
    instead of|rather than|and not|in place of|stattdessen|statt|plutôt que|en lugar de|вместо|而不是|代わりに|대신";

/// Words that make a sentence with an alternative a choice.
pub(super) static CHOICES: Phrases = Phrases(LazyLock::new(|| any_of(CHOICES_LIST)));
const CHOICES_LIST: &str = "\
    use|uses|using|used|keep|keeps|kept|switch|switched|replace|replaces|replaced|move|moved|take|takes|store|stores|read\
    |reads|write|writes|call|calls|return|returns|nutze|verwende|utilise|usa|используй|用|使う";

/// Words that tell the cause that was found.
pub(super) static CAUSES: Phrases = Phrases(LazyLock::new(|| any_of(CAUSES_LIST)));
const CAUSES_LIST: &str = "\
    root cause is|root cause was|the cause is|the cause was|the fix is|turns out|turned out|the right approach is\
    |the best approach is|原因是|原因は";

/// Words of a guess.
pub(super) static HEDGES: Phrases = Phrases(LazyLock::new(|| any_of(HEDGES_LIST)));
const HEDGES_LIST: &str = "\
    i bet|might be|may be|maybe|perhaps|i think|i guess|probably|presumably|not sure|wait|hmm|could be|would you|do you\
    |if you|you can|you could|you should|you're right|let me|let's|i'll|i need to|i should|we should|we need to|we could";

/// Words that give a reason.
pub(super) static REASONS: Phrases = Phrases(LazyLock::new(|| any_of(REASONS_LIST)));
const REASONS_LIST: &str = "\
    because|so that|the problem is|the issue is|the bug is|due to|therefore|otherwise|weil|damit|parce que|porque\
    |потому что|因为|由于|ため|때문";

/// Words that say that something is finished.
pub(super) static DONE: Phrases = Phrases(LazyLock::new(|| any_of(DONE_LIST)));
const DONE_LIST: &str = "\
    done|finished|completed|complete|implemented|fixed|resolved|added|merged|shipped|released|works now|passes now\
    |all pass|erledigt|fertig|behoben|terminé|fini|corrigé|hecho|terminado|готово|сделано|исправлено|完成|已完成|修复|完了|修正しました\
    |완료";

/// Openings of an order: at the start of a sentence or clause. Those that end in a blank need one.
pub(super) const ORDERS: &str = "\
    don't|dont|do not|no |avoid|only|use only|please use|please don't|please do not|please keep|prefer|make sure\
    |be sure to|ensure|remember to|remember that|stop using|stop doing|keep the|keep it|leave|stick to|instead of|bitte\
    |verwende|benutze|kein|keine|nicht|n'utilise|utilise|no uses|usa |evita|не |используй|только|请使用|请用|请保持|请勿|请始终|別|别|只用|使って|ください";

/// Beginnings that look like orders and are none.
pub(super) const NO_ORDER: &str = "\
    don't you|don't we|don't i|i don't understand|i don't know|i don't see|i don't think|i don't get|no idea|no worries\
    |no problem|no,|no.|no it|no that|don't worry|not only|if only|the only|only one|the only one";

/// Openings of a sentence, or of the heading of a list, that tells what comes next.
pub(super) const NEXT: &str = "\
    next step|next steps|next:|next,|next up|remaining|still to do|still need|todo:|to do:|what's left|left to do\
    |as a next step|nächster schritt|nächste schritte|als nächstes|prochaine étape|próximo paso|следующий шаг|осталось\
    |下一步|接下来|次のステップ|次は|残り|다음 단계";

/// Words that may stand before what a user says, each taken off in this order.
pub(super) const OPENERS: &str =
    "ok, |ok |okay, |hm, |hmm, |hmmm, |hmmm |hmmmm |well, |sooo, |sooo |so, |so |and |but |also |great. |wait, ";

/// Openings of a user who reports or thinks aloud.
pub(super) const REPORTS: &str = "\
    i think the|i think that|i selected|i saw|i see |i get |i got |i noticed|i tried|i just|let me |it says|it seems|looks like\
    |there is|there's|why |how |when i|reason being|i thought";

/// Openings of a sentence that cannot be understood without the one before it, or tells what was about to be done.
pub(super) const POINTING: &str = "\
    this |that |it |it's |these |those |they |and |but |so |then |or |otherwise |also |however|both |here |there |now |next\
    |first|let |i'll |i will |we'll |i need |i can |i see|i'm |you |your |same |looking |checking |perfect|great|good |done\
    |actually|same|another |yes|no,|ok|all |he |she |if |like |as a |step |option |phase |before |after |because |which |uses |has |calls |shows |returns |sets |gets\
    |takes |add |import |use |search |look |try |change |create |remove |check |make |run |call |implement |move |replace\
    |keep |put |wrap |install |open |no |not |just |later |in |when i|multi";

/// Words by which a line says what is, was done or came out.
pub(super) static VERBS: Phrases = Phrases(LazyLock::new(|| any_of(VERBS_LIST)));
const VERBS_LIST: &str = "\
    is|are|was|were|has|have|had|does|do|did|can|cannot|can't|will|would|should|must|may|needs|need|isn't|aren't|doesn't\
    |don't|won't|wasn't|uses|use|calls|call|returns|return|takes|take|gives|give|gets|get|sets|set|reads|read|writes|write\
    |wrote|runs|run|ran|makes|make|made|keeps|keep|kept|shows|show|sends|send|sent|holds|hold|held|stores|loads|parses\
    |handles|throws|passes|pass|fails|fail|breaks|broke|works|work|goes|go|went|comes|came|becomes|became|finds|find|found\
    |leaves|left|means|starts|stops|ends|knows|builds|built|adds|add|removes|remove|fixes|fix|changes|change|creates|create\
    |moves|move|renders|draws|checks|check|supports|contains|expects|accepts|rejects|emits|adds|falls|fell|counts|matches\
    |lives|stands|stood|chose|says|said|told|put|puts|let|lets|appears|depends|requires|provides|allows|exposes|wraps|triggers\
    |replaces|extends|implements|exports|imports|defines|includes|generates|converts|resolves|inherits|lacks|belongs|ignores";

/// Openings of an assistant that carry nothing.
pub(super) const CHATTER: &str = "\
    good catch|good thinking|good point|good idea|good question|great|perfect|excellent|you're right\
    |you're absolutely right|absolutely|sure|of course|certainly|okay|ok|alright|i see|got it|understood|makes sense\
    |i understand|sorry|i apologize|my apologies|hmm|now i have a complete picture|yes|done|thanks|thank you|no problem\
    |interesting|wow";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_compiles() {
        for phrases in [&STRONG, &WISHES, &DECISIONS, &ALTERNATIVES, &CHOICES, &CAUSES, &HEDGES, &REASONS, &DONE, &VERBS] {
            assert!(phrases.0.is_some());
        }
    }

    #[test]
    fn phrases_stand_between_word_limits() {
        assert!(STRONG.is_in("you must not") && STRONG.is_in("绝对不要改") && STRONG.is_in("niemals!"));
        assert!(!STRONG.is_in("mustard") && !STRONG.is_in("schwimmer"));
    }
}
