"""The language of the made-up cardiac reports: words, sentences and sections, without any logic.

`[a|b]` is a choice, and may hold others; `{pool}` is a word of a pool; `<attribute>` is that attribute's number. No
sentence is taken from a real report.
"""

from __future__ import annotations

__all__ = ["CONCLUSIONS", "FILLERS", "HEADINGS", "MEASURED", "ORDERS", "POOLS", "SCARS", "UNSCARRED"]

POOLS: dict[str, tuple[str, ...]] = {
    name: tuple(words.split("|"))
    for name, words in {
        "symptom": "chest pain|exertional breathlessness|palpitations|syncope|dizziness|fatigue|ankle swelling|"
        "orthopnoea|"
        "reduced exercise tolerance|atypical chest discomfort|presyncope|a nocturnal cough|lethargy|chest tightness|"
        "shortness of breath at rest|collapse while running|light headedness|new onset heart failure|weight "
        "gain|fever",
        "history": "hypertension|type two diabetes|hypercholesterolaemia|asthma|previous smoking|a stroke in "
        "the past|gout|"
        "chronic kidney disease|obesity|hypothyroidism|rheumatoid arthritis|sarcoidosis|anaemia|epilepsy|"
        "migraine|lupus|"
        "previous chemotherapy|breast cancer|lymphoma|thalassaemia|sleep apnoea|psoriasis|depression|alcohol excess|"
        "paroxysmal atrial fibrillation|a permanent pacemaker in the past|coeliac disease|muscular dystrophy|"
        "emphysema",
        "relative": "father|mother|brother|sister|uncle|cousin|grandfather|aunt|nephew|son|daughter|grandmother",
        "drug": "bisoprolol|ramipril|aspirin|atorvastatin|furosemide|amiodarone|warfarin|apixaban|"
        "spironolactone|digoxin|"
        "candesartan|amlodipine|metformin|clopidogrel|lisinopril|carvedilol|eplerenone|simvastatin|diltiazem|"
        "losartan|"
        "sotalol|verapamil|bumetanide|nicorandil|ivabradine|perindopril|rivaroxaban|doxazosin|allopurinol|omeprazole",
        "doctor": "Adeyemi|Ahmed|Alvarez|Andersson|Baker|Banerjee|Barnes|Bianchi|Brennan|Byrne|Campbell|Chandra|"
        "Chen|Clarke|"
        "Costa|Cunningham|Dalton|Davies|Desai|Dixon|Donnelly|Dubois|Edwards|Ellis|Evans|Farrell|Ferrari|Fischer|"
        "Fletcher|"
        "Fraser|Garcia|Gibson|Gill|Graham|Greene|Gupta|Hall|Hansen|Harris|Hughes|Hussain|Ibrahim|Jansen|Jenkins|"
        "Johansson|"
        "Joshi|Kamara|Kaur|Kelly|Khan|Kim|Kowalski|Kumar|Lambert|Larsen|Lee|Lewis|Lopez|Macdonald|Malik|Marino|"
        "Marshall|"
        "Mehta|Mensah|Meyer|Mitchell|Moreau|Morgan|Murphy|Nair|Nguyen|Nielsen|Novak|Obi|Okafor|Oliveira|Osman|"
        "Park|Patel|"
        "Pereira|Phillips|Popescu|Price|Quinn|Rahman|Reid|Ricci|Roberts|Rossi|Russell|Santos|Schmidt|Shah|"
        "Sharma|Silva|"
        "Singh|Stewart|Suzuki|Tanaka|Taylor|Thompson|Turner|Vasquez|Wallace|Walsh|Watson|Weber|Williams|Wood|"
        "Wright|Yilmaz",
        "extra": "a simple renal cyst|a hiatus hernia|bilateral pleural effusions|a small pleural effusion|a "
        "hepatic cyst|"
        "mediastinal lymph nodes of normal size|atelectasis at the lung bases|an azygos lobe|gallstones|splenomegaly|"
        "a thyroid nodule|degenerative change in the thoracic spine|a vertebral haemangioma|pulmonary nodules|"
        "ascites|"
        "a breast implant|an elevated right hemidiaphragm|old rib fractures|scoliosis|pectus excavatum|a lipoma|"
        "emphysema|"
        "a persistent left superior vena cava|partial anomalous pulmonary venous drainage|an accessory spleen",
        "segment": "basal anterior|basal inferior|basal septal|basal lateral|mid anterior|mid inferior|mid "
        "septal|mid lateral|"
        "apical anterior|apical inferior|apical septal|apical lateral|inferolateral|anteroseptal|inferoseptal|"
        "anterolateral",
        "valve": "mitral|aortic|tricuspid|pulmonary",
        "degree": "trivial|mild|mild|moderate|mild to moderate|severe|moderate to severe",
        "artery": "left anterior descending|right coronary|circumflex|first diagonal|obtuse marginal|posterior "
        "descending",
        "place": "cardiology clinic|emergency department|heart failure clinic|acute medical unit|arrhythmia service|"
        "inherited disease clinic|rapid access clinic|general practice|coronary care unit|oncology service|"
        "renal unit",
        "test": "echocardiogram|exercise test|coronary angiogram|electrocardiogram|chest radiograph|stress "
        "echocardiogram|"
        "nuclear perfusion scan|blood test|ambulatory monitor",
        "view": "two chamber|three chamber|four chamber|short axis|long axis|outflow tract",
        "work": "teacher|nurse|farmer|engineer|retired miner|builder|plumber|secretary|student|accountant|bus "
        "driver|chef|"
        "carpenter|electrician|shop assistant|librarian|gardener|musician|police officer|soldier|pilot|"
        "solicitor|baker|"
        "postman|dentist|cleaner|mechanic|architect|painter|journalist|fisherman|tailor|hairdresser|welder|"
        "joiner|porter",
        "sport": "running|cycling|swimming|rowing|tennis|football|walking the dog|climbing stairs|dancing|golf|"
        "rugby|squash|"
        "hockey|badminton|gardening|yoga|boxing|hiking|skiing|weight training|triathlon|netball|sailing|martial arts",
        "town": "Aldgate|Barnet|Bexley|Brixton|Bromley|Camden|Chelsea|Clapham|Croydon|Dulwich|Ealing|Edgware|"
        "Edmonton|Eltham|"
        "Enfield|Epsom|Finchley|Fulham|Greenwich|Hackney|Hampstead|Harrow|Hendon|Highgate|Hounslow|Ilford|"
        "Islington|Kew|"
        "Kingston|Lambeth|Lewisham|Leyton|Mitcham|Morden|Norwood|Orpington|Paddington|Peckham|Pinner|Poplar|Putney|"
        "Richmond|Romford|Southgate|Stanmore|Stepney|Streatham|Surbiton|Sutton|Tooting|Tottenham|Twickenham|Uxbridge|"
        "Walthamstow|Wandsworth|Wapping|Watford|Wembley|Wimbledon|Woolwich|Windsor|Slough|Luton|Guildford|Reigate",
        "device": "a dual chamber pacemaker|a biventricular defibrillator|an implantable loop recorder|sternal wires|"
        "a bioprosthetic valve|a mechanical valve|coronary stents|an annuloplasty ring|a septal occluder|bypass "
        "grafts|"
        "a ventricular assist cannula|surgical clips|a tunnelled line|epicardial leads|an abandoned lead",
        "lesion": "myxoma|fibroma|papillary fibroelastoma|thrombus|lipomatous hypertrophy|rhabdomyoma|angiosarcoma|"
        "metastatic deposit|pericardial cyst|diverticulum|crypt|cleft|pseudoaneurysm|abscess|vegetation",
        "disorder": "amyloidosis|Fabry disease|haemochromatosis|sarcoid heart disease|Takotsubo syndrome|Marfan "
        "syndrome|"
        "Brugada syndrome|Loeffler endocarditis|Chagas disease|Danon disease|peripartum cardiomyopathy|"
        "endomyocardial fibrosis|constrictive pericarditis|tetralogy of Fallot|Ebstein anomaly|Noonan syndrome",
        "he": "the patient",
    }.items()
}

HEADINGS = {
    "history": ("Indication", "Clinical details", "History", "Reason for referral"),
    "technique": ("Technique", "Protocol", "Sequences"),
    "left": ("Left ventricle", "LV", "Findings"),
    "right": ("Right ventricle", "RV"),
    "atria": ("Atria", "Atria and valves", "Other chambers"),
    "tissue": ("Late enhancement", "Tissue characterisation", "Viability"),
    "vessels": ("Great vessels", "Aorta", "Vessels"),
    "other": ("Extracardiac", "Other findings", "Incidental"),
    "conclusion": ("Conclusion", "Impression", "Summary", "Opinion"),
}
ORDERS = (
    ("history", "technique", "left", "right", "atria", "tissue", "vessels", "other", "conclusion"),
    ("history", "technique", "left", "right", "tissue", "atria", "vessels", "other", "conclusion"),
    ("conclusion", "history", "technique", "left", "right", "atria", "vessels", "tissue", "other"),
    ("history", "left", "tissue", "right", "atria", "vessels", "other", "technique", "conclusion"),
)

# Sentences with numbers: (section, how often a report has the group, phrasings).
MEASURED: tuple[tuple[str, float, tuple[str, ...]], ...] = (
    ("history", 0.8, (
        "<age> year old {sex} [referred|sent] [from|by] the {place} with {symptom}.",
        "A {sex} [aged|of] <age> [years|] [presenting|who presents] with {symptom} and {symptom}.",
        "This <age> year old {sex} has [a history of|known] {history} and complains of {symptom}.",
        "[Thank you for asking us to see|We were asked to scan] this {sex}, <age>, [with|because of] {symptom}.",
    )),
    ("history", 0.25, (
        "Height <height> cm, weight <weight> kg.",
        "[Weight|Body weight] <weight> kg, height <height> cm, body surface area <bsa> m2.",
        "Body surface area [was calculated as|is|of] <bsa> square metres.",
    )),
    ("history", 0.18, (
        "Blood pressure [was|at the time of the scan was] <systolic>/<diastolic> mmHg.",
        "BP <systolic>/<diastolic>, [pulse|heart rate] <heart_rate>.",
    )),
    ("history", 0.12, ("{he} takes {drug} <drug_dose> mg [daily|once a day|at night] [and {drug}|].",)),
    ("history", 0.12, (
        "[Previous|Last] {test} in <year> [was normal|was reported elsewhere|showed similar findings|is not "
        "available].",
        "[Compared with|Comparison is made with] the study of <year>.",
    )),
    ("technique", 0.3, (
        "Heart rate [was|of] <heart_rate> [beats per minute|bpm] [throughout|during the acquisition|at rest].",
        "[Sinus rhythm|Regular rhythm] at <heart_rate> bpm.",
    )),
    ("technique", 0.3, (
        "<contrast_dose> ml of [gadolinium|contrast|gadobutrol] [was|were] given [intravenously|without incident].",
        "[Images were acquired|Acquired] [before and|] after <contrast_dose> ml of [contrast agent|gadolinium].",
    )),
    ("left", 0.92, (
        "[LV|Left ventricular] end diastolic volume <lv_edv> ml, end systolic volume <lv_esv> ml, "
        "ejection fraction <lv_ef> %.",
        "The left ventricle is {size}, with an end diastolic volume of <lv_edv> ml and an ejection fraction of "
        "<lv_ef> %.",
        "LVEF <lv_ef> %, EDV <lv_edv> ml, ESV <lv_esv> ml, stroke volume <lv_sv> ml.",
        "[Left ventricular|LV] ejection fraction is [measured at|calculated at|] <lv_ef> % "
        "[from volumes of|with volumes of] <lv_edv> ml in diastole and <lv_esv> ml in systole.",
        "The LV ejection fraction is <lv_ef> percent with a stroke volume of <lv_sv> ml.",
    )),
    ("left", 0.45, (
        "[LV|Myocardial|Left ventricular] mass [is|was|of] <lv_mass> g.",
        "The myocardial mass is <lv_mass> grams, {massive} for body size.",
    )),
    ("left", 0.4, (
        "[Maximal|Maximum|Greatest] wall thickness [is|measures] <wall> mm [in the {segment} segment|in the septum].",
        "The [septum|basal septum] measures <wall> mm [in diastole|at end diastole|].",
        "Wall thickness is {thick}, [up to|at most] <wall> mm.",
    )),
    ("right", 0.55, (
        "[RV|Right ventricular] end diastolic volume <rv_edv> ml, ejection fraction <rv_ef> %.",
        "RVEF <rv_ef> %, EDV <rv_edv> ml, ESV <rv_esv> ml.",
        "The right ventricular ejection fraction is <rv_ef> %.",
        "[RV|Right ventricular] volumes are <rv_edv> ml and <rv_esv> ml in diastole and systole.",
    )),
    ("atria", 0.35, (
        "The left atrium is {atrial}, [with an area of|measuring|area] <la_area> cm2.",
        "[LA|Left atrial] area <la_area> [cm2|square centimetres].",
    )),
    ("vessels", 0.35, (
        "The aortic root [measures|is] <aortic_root> mm [at the sinuses|at the level of the sinuses|].",
        "[Aortic root|Sinuses of Valsalva] <aortic_root> mm, [no dilatation|normal arch|unremarkable arch].",
    )),
)  # fmt: skip

SCARS = {
    "ischaemic": (
        "[Transmural|Subendocardial] late enhancement in the {segment} and {segment} segments, <scar> % of the mass.",
        "There is [infarction|scar] in the {artery} territory, [amounting to|estimated at] <scar> % of the ventricle.",
    ),
    "other": (
        "[Patchy|Mid wall|Linear|Epicardial] enhancement [is seen|is present] in the {segment} wall, <scar> % "
        "by volume.",
        "[Diffuse|Focal] [mid wall|epicardial|patchy] fibrosis [of|occupying] <scar> % of the myocardium.",
    ),
}
UNSCARRED = (
    "[There is no|No] [late|abnormal|delayed] [gadolinium|] enhancement [to suggest [scar|fibrosis|infarction]|].",
    "[After contrast there is|] no evidence of [myocardial|] [fibrosis|infarction|scarring|infiltration].",
)

FILLERS: dict[str, tuple[str, ...]] = {
    "history": (
        "There is a family history of [sudden death|cardiomyopathy|ischaemic heart disease] in [a|the] {relative}.",
        "[Past medical history of|Background of|Known] {history}[, {history}|] and {history}.",
        "[Current treatment includes|Takes|Medication:] {drug}[, {drug}|] and {drug}.",
        "[Recent|Outside|Local] {test} [was abnormal|was inconclusive|showed poor windows|raised the question of "
        "[cardiomyopathy|ischaemia|valve disease|shunt]].",
        "Referred by Dr {doctor} [at the {place}|from the {place}|].",
        "[Please assess|The question is of|We are asked about] [viability|left ventricular function|scar|"
        "right ventricular size|aortic dimensions|cardiac masses|pericardial disease|iron overload].",
        "[No|There is no] history of {history} or {history}.",
        "[Works as|Formerly|Occupation:] a {work}[ from {town}| living in {town}|], [enjoys|limited when|"
        "symptoms during] {sport}.",
        "[Transferred|Referred] from {town} [hospital|health centre|surgery] after an abnormal {test}.",
    ),
    "technique": (
        "[Cine|Steady state cine] images were [acquired|obtained] in [the|] {view}, {view} and {view} planes.",
        "[Standard|Routine] [protocol|sequences] on a [1.5|3] tesla [scanner|system] [with a dedicated cardiac coil|].",
        "[Image quality is|Images are] [good|excellent|adequate|degraded by arrhythmia|limited by breathing artefact|"
        "impaired by poor breath holding|diagnostic].",
        "[Scan|Study|Examination] [tolerated well|completed without complication|curtailed by claustrophobia|"
        "performed under adenosine stress with typical symptoms].",
        "Volumes were [traced|contoured|measured] [by hand|semi automatically|on the short axis stack] "
        "[and reviewed by Dr {doctor}|including papillary muscles|excluding trabeculation|].",
        "T[1|2] mapping and [flow|phase contrast|tagging] sequences were [also|additionally] performed.",
    ),
    "left": (
        "The left ventricle is {size} with {function} [systolic|overall|global] function.",
        "There [is|are] [hypokinesia|akinesia|dyskinesia|thinning] of the {segment} [segment|wall].",
        "[No|There is no] [regional wall motion abnormality|left ventricular thrombus|outflow obstruction|"
        "apical aneurysm|asymmetry].",
        "The [remaining|other] segments contract [normally|vigorously|well|less than expected].",
        "[Prominent|Increased|Normal] [trabeculation|apical trabeculation] [is noted|without criteria for non "
        "compaction].",
        "Septal motion is [normal|paradoxical|flattened in diastole|typical of bundle branch block|dyssynchronous].",
        "[No features of|Appearances do not suggest|Appearances raise the possibility of] {disorder}.",
        "The papillary muscles are [hypertrophied|displaced apically|normal in number and position|bifid].",
    ),
    "right": (
        "The right ventricle is [normal in size|dilated|not dilated|small|mildly dilated] with [normal|impaired|"
        "preserved|"
        "good|reduced] [longitudinal|] function.",
        "[No|There is no] [free wall aneurysm|fatty infiltration|regional dyskinesia|right ventricular hypertrophy].",
        "The moderator band and free wall [appear|look] [normal|unremarkable|thickened].",
    ),
    "atria": (
        "The {valve} valve [is thickened|opens well|is bicuspid|is myxomatous|appears normal|is calcified] with "
        "{degree} "
        "[regurgitation|stenosis|prolapse].",
        "[There is|We see] {degree} {valve} regurgitation [visually|by flow analysis|directed posteriorly|].",
        "The [interatrial septum|atrial appendage|coronary sinus] is [intact|aneurysmal|clear of thrombus|"
        "prominent|normal].",
        "[There is artefact from|Note] {device}.",
        "[No|There is no] [mass|suspicion of {lesion}|{lesion}] [in either atrium|attached to the {valve} valve|].",
        "Both atria are [normal|dilated|enlarged|of normal size].",
        "The right atrium is [normal|enlarged|mildly dilated|compressed by the spine].",
    ),
    "tissue": (
        "[Native|Resting] relaxation times are [normal|prolonged|shortened|within the local range].",
        "[On stress perfusion|First pass imaging shows] [no inducible defect|a reversible defect in the "
        "{segment} segment|"
        "matched ischaemia in the {artery} territory|homogeneous perfusion].",
        "[No|There is no] [oedema|microvascular obstruction|haemorrhage|fat|iron loading] [on dark blood imaging|].",
        "The myocardium [nulls normally|nulls abnormally|shows a heterogeneous signal].",
    ),
    "vessels": (
        "The [pulmonary arteries|proximal coronary arteries|great vessels|branch pulmonary arteries] [are|appear] "
        "[normal|unobstructed|of normal calibre|prominent].",
        "[There is no|No] [coarctation|dissection|shunt|pericardial effusion|aneurysm of the arch].",
        "The pericardium is [normal|thickened|enhancing|not thickened] [without effusion|with a [small|trivial|"
        "global] "
        "effusion|].",
        "The inferior vena cava [collapses|does not collapse] with [inspiration|respiration].",
    ),
    "other": (
        "[Incidental|Note is made of|Localisers show] {extra}.",
        "[No|There is no] [significant|relevant] extracardiac [finding|abnormality].",
        "[Comparison with|Review of] [prior|dedicated] [imaging|ultrasound|tomography] is [advised|suggested|"
        "recommended].",
        "Images reviewed [at the weekly meeting|] with Dr {doctor} and Dr {doctor}.",
    ),
    "conclusion": (
        "[Suggest|We would suggest|Consider|Advise] [follow up in [6|12|24] months|family screening|genetic testing|"
        "referral to the {place}|repeat scan in [1|2|3|5] years|coronary angiography|device therapy|optimisation of "
        "{drug}|electrophysiology review|clinical correlation].",
        "[Findings were|These findings have been] [discussed with|communicated to] Dr {doctor} [by telephone|].",
        "No [other|further] [abnormality|concern] [identified|].",
        "[Reported|Verified|Dictated] by Dr {doctor}[, accession <accession>|||||].",
    ),
}

CONCLUSIONS: dict[str, tuple[str, ...]] = {
    "normal": (
        "[Normal study|Normal cardiac scan|Structurally normal heart].",
        "No [evidence of|] [cardiomyopathy|ischaemia|structural heart disease].",
    ),
    "dilated": (
        "[Dilated cardiomyopathy|Features of dilated cardiomyopathy|Non ischaemic dilated ventricle] with "
        "{function} function.",
        "[Dilated|Globular] left ventricle [without infarction|of likely idiopathic cause|perhaps after myocarditis].",
    ),
    "hypertrophic": (
        "[Asymmetric septal|Apical|Concentric] hypertrophy [consistent with|in keeping with|suggesting] "
        "hypertrophic cardiomyopathy.",
    ),
    "ischaemic": (
        "[Previous|Established|Chronic] infarction in the {artery} territory with {function} [left ventricular|"
        "] function.",
        "Ischaemic cardiomyopathy, [viable|non viable|partially viable] {segment} wall.",
    ),
    "myocarditis": ("[Acute|Healing|Previous] myocarditis [is likely|is probable|with preserved function].",),
    "right heart": (
        "[Right ventricular dilatation|Pressure loaded right ventricle] [suggesting|consistent with] "
        "[pulmonary hypertension|arrhythmogenic cardiomyopathy|a shunt].",
    ),
    "athlete": (
        "[Physiological|Athletic] remodelling [of a trained heart|, athlete's heart|in an endurance athlete].",
    ),
}
